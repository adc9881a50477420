import { enforcedConfiguration } from "@gatehouse/agent-protocol/gateway/agent-link";
import type { ConfigurationEnvelope } from "@gatehouse/agent-protocol/gateway/configuration";
import {
  applyDifference,
  type ContentTree,
  contentOf,
  contentRoot,
  contentTreeOf,
} from "@gatehouse/agent-protocol/gateway/content-tree";
import { envelopeFault } from "@gatehouse/agent-protocol/gateway/envelope";
import {
  type AgentMessage,
  type Difference,
  type FailureReason,
  gatewayLinkPath,
  gatewayLinkSubprotocols,
  type PeerReport,
  type ServerMessage,
  type Whole,
} from "@gatehouse/agent-protocol/gateway/frames";
import { type ConfigurationName, configurationName } from "@gatehouse/agent-protocol/link/envelope";
import type { Challenge } from "@gatehouse/agent-protocol/link/key-proof";
import { publicKey } from "./operations/test-records.ts";
import { isSignedBy, SimulatedAgent, type SimulatedKey, sha256 } from "./simulated-agent.ts";

type Hello = Extract<AgentMessage, { type: "hello" }>;

export interface SimulatedGatewayOptions {
  /** `http://…` of a replica. */
  readonly url: string;
  readonly gatewayId: string;
  readonly token: string;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** Decides what the gateway answers to a configuration; undefined: nothing. */
  readonly verdict?: (name: ConfigurationName) => "apply" | FailureReason | undefined;
  readonly publicKey?: string;
  /** Called for each configuration that the gateway has applied. */
  readonly applied?: (name: ConfigurationName) => void;
}

/** The configurations that a gateway received. */
export interface ReceivedCounts {
  readonly wholes: number;
  readonly differences: number;
  /** Characters of all frames. */
  readonly bytes: number;
}

/** A gateway's agent over a real socket, without a kernel. It verifies configurations, and applies or refuses them. */
export class SimulatedGateway extends SimulatedAgent<AgentMessage, ServerMessage> {
  readonly #options: SimulatedGatewayOptions;
  signingKey: string | undefined;
  /** The applied configuration. */
  name: ConfigurationName | undefined;
  envelope: ConfigurationEnvelope | undefined;
  content: ContentTree | undefined;
  verdict: NonNullable<SimulatedGatewayOptions["verdict"]>;
  publicKey: string;
  /** Answers a challenge; tests replace it by hostile answers. */
  answerChallenge: (challenge: Challenge) => void = () => undefined;
  readonly challenges: Challenge[] = [];
  readonly goodbyes: ServerMessage[] = [];
  /** The sequence numbers of answered heartbeats. */
  readonly answers: number[] = [];
  seen: ReceivedCounts = { wholes: 0, differences: 0, bytes: 0 };

  constructor(options: SimulatedGatewayOptions) {
    super({ path: gatewayLinkPath, subprotocol: gatewayLinkSubprotocols[2] }, options.url, options.token);
    this.#options = options;
    this.verdict = options.verdict ?? (() => "apply");
    this.publicKey = options.publicKey ?? publicKey();
  }

  /** The resources of the applied configuration. */
  get rules() {
    return this.content === undefined ? {} : contentOf(this.content).resources;
  }

  /** Opens a connection and says hello. @returns the HTTP status if it was refused, otherwise 101 */
  async connect(hello: Partial<Hello> = {}, headers: Readonly<Record<string, string>> = {}): Promise<number> {
    const status = await this.open(headers);
    if (status === 101) this.sendHello(hello);
    return status;
  }

  sendHello(hello: Partial<Hello> = {}): void {
    const { publicKey, name, envelope, content } = this;
    const { now = Date.now } = this.#options;
    const isValid = envelope !== undefined && envelope.header.expiresAt > now();
    const enforced =
      isValid && name !== undefined && content !== undefined
        ? { name, configuration: { envelope, content } }
        : undefined;
    const enforces = enforcedConfiguration(enforced, name);
    this.send({ type: "hello", agentVersion: "0.1.0", publicKey, enforces, format: 1, ...hello });
  }

  heartbeat(
    fields: {
      readonly load?: number;
      readonly roundTripTimeMs?: number;
      readonly peers?: PeerReport[];
      readonly warnings?: string[];
    } = {},
  ): void {
    this.send({ type: "heartbeat", sequence: this.nextSequence(), peers: [], ...fields });
  }

  protected override counted(length: number): void {
    this.seen = { ...this.seen, bytes: this.seen.bytes + length };
  }

  /** Uses the latest version of the protocol, and proves this key. @param former the key that it replaces */
  useKey(key: SimulatedKey, former?: SimulatedKey): void {
    this.endpoint = { path: gatewayLinkPath, subprotocol: gatewayLinkSubprotocols[0] };
    this.publicKey = key.publicKey;
    this.answerChallenge = (challenge) => {
      this.challenges.push(challenge);
      this.send(key.answer("gateway", challenge, former));
    };
  }

  protected received(message: ServerMessage): void {
    if (message.type === "challenge") this.answerChallenge(message);
    else if (message.type === "welcome") this.signingKey ??= message.signingKey;
    else if (message.type === "goodbye") this.goodbyes.push(message);
    else if (message.type === "heartbeat-answer") this.answers.push(message.sequence);
    else this.#answer(message);
  }

  #answer(message: Whole | Difference): void {
    const { seen } = this;
    this.seen =
      message.type === "whole" ? { ...seen, wholes: seen.wholes + 1 } : { ...seen, differences: seen.differences + 1 };
    const configuration = configurationName(message.envelope.header, sha256);
    const verdict = this.verdict(configuration);
    if (verdict === undefined) return;
    const reason = verdict === "apply" ? this.#apply(message, configuration) : verdict;
    if (reason === undefined) {
      this.send({ type: "applied", configuration });
      this.#options.applied?.(configuration);
    } else this.send({ type: "failed", configuration, reason, message: `was told to say ${reason}` });
  }

  #apply(message: Whole | Difference, name: ConfigurationName): FailureReason | undefined {
    const { gatewayId: gateway, now = Date.now } = this.#options;
    const { envelope } = message;
    const fault = envelopeFault(
      envelope,
      { gateway, tenant: undefined, signingKey: this.signingKey ?? "", latest: this.name, now: now() },
      { sha256, verify: isSignedBy },
    );
    if (fault !== undefined) return fault;
    if (message.type === "difference" && (this.content === undefined || message.base.hash !== this.name?.hash)) {
      return "unknown_base";
    }
    const content =
      message.type === "whole" || this.content === undefined
        ? contentTreeOf((message as Whole).content) // a difference without a base was refused above
        : applyDifference(this.content, message.difference);
    if (contentRoot(content, sha256) !== envelope.header.root) return "wrong_root";
    this.content = content;
    this.envelope = envelope;
    this.name = name;
    return undefined;
  }
}
