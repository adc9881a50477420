/**
 * The agent's end of the link over a WebSocket: the machine of the contract (`gateway-link/agent-link.ts`) with a socket, a clock and a kernel.
 * What the link brings, the agent verifies again: it trusts nobody, this module neither.
 */

import type { Clock } from "@gatehouse/agent-core/clock";
import { isSignedBy, sha256 } from "@gatehouse/agent-core/crypto/signatures";
import { FrameSocket } from "@gatehouse/agent-core/link/frame-socket";
import { clockWarning, nothingHeard } from "@gatehouse/agent-core/link/link-messages";
import type { Log } from "@gatehouse/agent-core/log";
import {
  type AgentLink,
  type AgentLinkEvent,
  type AgentLinkFunctions,
  newAgentLink,
  stepAgentLink,
} from "@gatehouse/agent-protocol/gateway/agent-link";
import type { SignedConfiguration } from "@gatehouse/agent-protocol/gateway/configuration";
import { contentOf, contentTreeOf } from "@gatehouse/agent-protocol/gateway/content-tree";
import {
  type AgentMessage,
  type Goodbye,
  gatewayLinkPath,
  gatewayLinkSubprotocol,
  longestWarning,
  type PeerReport,
  type ServerMessage,
  serverFrames,
} from "@gatehouse/agent-protocol/gateway/frames";
import { configurationName } from "@gatehouse/agent-protocol/link/envelope";
import { heartbeatIntervalMs, heartbeatTimeoutMs } from "@gatehouse/agent-protocol/link/frames";
import type { Outcome, Report } from "../agent.ts";

/** What the link needs of the agent. */
export interface LinkedAgent {
  applyConfiguration(given: unknown): Promise<Outcome>;
  trustSigningKey(signingKey: string): Promise<void>;
  report(): Promise<Report>;
}

export interface GatewayLinkOptions {
  /** `https://…` of the control plane; `http://` only where nothing but this machine is in between. */
  readonly url: string;
  /** Read for each connection, so that a token may be replaced without a restart. */
  readonly token: () => Promise<string>;
  readonly agent: LinkedAgent;
  /** What is enforced from before, and whom it trusts. */
  readonly kept: { readonly signingKey?: string | undefined; readonly configuration?: SignedConfiguration | undefined };
  /** Of the WireGuard interface, base64. */
  readonly publicKey: string;
  readonly agentVersion: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly random?: () => number;
}

/** The most peers that a heartbeat tells of. */
const mostPeers = 1_000;
const mostWarnings = 8;
const configurationFormat = 1;

/** What a person can do about the end of a link. */
const remedies: Partial<Record<Goodbye["reason"], string>> = {
  token_revoked: "The token was replaced: put the new one into the token file.",
  gateway_gone: "The gateway was deleted: end its agent.",
  replaced: "Another agent is connected with the token of this one.",
};

export class GatewayLink {
  readonly #options: GatewayLinkOptions;
  readonly #functions: AgentLinkFunctions;
  #link: AgentLink;
  readonly #socket: FrameSocket<ServerMessage>;
  #cancelWait: (() => void) | undefined;
  #cancelBeat: (() => void) | undefined;
  #heartbeatMs = heartbeatIntervalMs;
  #sequence = 0;
  #sentAt = 0;
  #answeredAt = 0;
  #roundTripTimeMs: number | undefined;
  #reported = new Map<string, string>();
  /** Until the key is kept, nothing that it signed can be verified. */
  #pinned: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(options: GatewayLinkOptions) {
    const { clock, kept, random = Math.random } = options;
    this.#options = options;
    this.#socket = new FrameSocket({
      url: options.url,
      path: gatewayLinkPath,
      subprotocol: gatewayLinkSubprotocol,
      frames: serverFrames,
      token: options.token,
      tokenRemedy:
        "Is it this gateway's, and its present one? Put that into the token file; of a gateway that was deleted, end the agent.",
      log: options.log,
      connected: () => {
        this.#answeredAt = clock.now();
        this.#step({ type: "connected" });
        this.#beat();
      },
      heard: (message) => this.#heard(message),
      violated: () => this.#step({ type: "overdue" }),
      cut: () => {
        this.#cancelBeat?.();
        this.#step({ type: "cut" });
      },
    });
    this.#functions = { sha256, verify: isSignedBy, now: () => clock.now(), random };
    const { configuration, signingKey } = kept;
    const enforced =
      configuration === undefined
        ? undefined
        : {
            envelope: configuration.envelope,
            name: configurationName(configuration.envelope.header, sha256),
            content: contentTreeOf(configuration.content),
          };
    this.#link = newAgentLink(configuration?.envelope.header.gateway ?? "", {
      ...(signingKey === undefined ? {} : { signingKey }),
      ...(enforced === undefined ? {} : { enforced }),
    });
  }

  /** Connects, and again whenever the link is lost, until it is stopped. */
  start(): void {
    this.#step({ type: "retry" });
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelWait?.();
    this.#cancelBeat?.();
    this.#socket.stop();
  }

  /** What was enforced is not any more. */
  expired(): void {
    this.#step({ type: "expired" });
  }

  #step(event: AgentLinkEvent): void {
    const { link, outputs } = stepAgentLink(this.#link, event, this.#functions);
    this.#link = link;
    for (const output of outputs) {
      switch (output.do) {
        case "connect":
          void this.#socket.connect();
          break;
        case "hello": {
          const { publicKey, agentVersion } = this.#options;
          const { enforces } = output;
          this.#say({ type: "hello", agentVersion, publicKey, enforces, format: configurationFormat });
          break;
        }
        case "send":
          this.#say(output.message);
          break;
        case "apply":
          void this.#apply(output.configuration);
          break;
        case "pin":
          this.#pinned = this.#pin(output.signingKey);
          break;
        case "close":
          this.#cancelBeat?.();
          this.#socket.leave();
          break;
        case "wait":
          this.#wait(output.delayMs);
          break;
      }
    }
  }

  #heard(message: ServerMessage): void {
    const { clock, log } = this.#options;
    switch (message.type) {
      case "welcome":
        this.#step({ type: "welcome", message });
        this.#answeredAt = clock.now();
        if (this.#link.phase !== "open") {
          log("The control plane has another signing key than the pinned one; nothing that it sends is enforced.");
          break;
        }
        this.#warnOfClock(message.now);
        this.#heartbeatMs = message.heartbeatIntervalMs;
        this.#reported = new Map();
        this.#beat();
        break;
      case "whole":
      case "difference": {
        // Whose agent this is, the first configuration tells; its signature is by the pinned key, or it is refused all the same.
        const isFirst = this.#link.gateway === "";
        if (isFirst) this.#link = { ...this.#link, gateway: message.envelope.header.gateway };
        this.#step({ type: "configuration", message });
        if (isFirst && this.#link.applying === undefined) this.#link = { ...this.#link, gateway: "" };
        break;
      }
      case "heartbeat-answer":
        this.#answeredAt = clock.now();
        if (message.sequence === this.#sequence) this.#roundTripTimeMs = clock.now() - this.#sentAt;
        break;
      case "goodbye":
        log(`The control plane ended the link: ${message.reason}. ${remedies[message.reason] ?? ""}`.trim());
        this.#step({ type: "goodbye", message });
        break;
    }
  }

  #warnOfClock(theirs: number): void {
    const warning = clockWarning(theirs, this.#options.clock.now());
    if (warning !== undefined) this.#options.log(warning);
  }

  async #apply(configuration: NonNullable<AgentLink["applying"]>): Promise<void> {
    const content = contentOf(configuration.content);
    await this.#pinned;
    const outcome = await this.#options.agent.applyConfiguration({ envelope: configuration.envelope, content });
    this.#step(outcome.state === "applied" ? { type: "applied" } : { type: "failed", message: outcome.message });
  }

  async #pin(signingKey: string): Promise<void> {
    try {
      await this.#options.agent.trustSigningKey(signingKey);
    } catch (error) {
      this.#options.log(String(error));
      this.#step({ type: "overdue" });
    }
  }

  /** Heartbeats once the link is open; before, only whether anything is answered at all. */
  #beat(): void {
    const { clock, log } = this.#options;
    this.#cancelBeat?.();
    if (this.#isStopped || this.#socket.connection === undefined) return;
    // Where the clock was set back, it counts from there.
    this.#answeredAt = Math.min(this.#answeredAt, clock.now());
    if (clock.now() - this.#answeredAt > heartbeatTimeoutMs) {
      log(nothingHeard);
      this.#step({ type: "overdue" });
      return;
    }
    if (this.#link.phase === "open") void this.#sayHeartbeat();
    this.#cancelBeat = clock.after(this.#heartbeatMs, () => this.#beat());
  }

  async #sayHeartbeat(): Promise<void> {
    const { agent, clock, log } = this.#options;
    const { connection } = this.#socket;
    const report = await agent.report().catch((error: unknown) => {
      log(`The state of the tunnel cannot be read: ${String(error)}`);
      return undefined;
    });
    if (connection !== this.#socket.connection) return;
    const warnings = (report?.warnings ?? []).slice(0, mostWarnings).map((text) => text.slice(0, longestWarning));
    this.#sequence += 1;
    this.#sentAt = clock.now();
    this.#say({
      type: "heartbeat",
      sequence: this.#sequence,
      ...(report === undefined ? {} : { load: report.load }),
      ...(this.#roundTripTimeMs === undefined ? {} : { roundTripTimeMs: this.#roundTripTimeMs }),
      peers: this.#changed(report?.peers ?? []),
      ...(warnings.length === 0 ? {} : { warnings }),
    });
  }

  /** Those of which something is new; of too many, the others come with later heartbeats. */
  #changed(peers: readonly PeerReport[]): PeerReport[] {
    const changed: PeerReport[] = [];
    for (const peer of peers) {
      const text = JSON.stringify(peer);
      if (changed.length === mostPeers || this.#reported.get(peer.peer) === text) continue;
      this.#reported.set(peer.peer, text);
      changed.push(peer);
    }
    return changed;
  }

  #say(message: AgentMessage): void {
    this.#socket.say(message);
  }

  #wait(delayMs: number): void {
    if (this.#isStopped) return;
    this.#cancelWait?.();
    this.#cancelWait = this.#options.clock.after(delayMs, () => this.#step({ type: "retry" }));
  }
}
