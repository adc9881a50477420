/**
 * Agents of many gateways in one process, over real WebSockets. Each agent verifies the signature of each configuration
 * that it receives, and responds. Agents with the same content share it, and verify its signed root only once. Real
 * agents would verify it simultaneously, each on its own machine.
 */
import { createHash, randomBytes } from "node:crypto";
import type {
  ConfigurationContent,
  ConfigurationEnvelope,
  Membership,
  Peer,
} from "@gatehouse/agent-protocol/gateway/configuration";
import {
  applyDifference,
  type ContentTree,
  contentRoot,
  contentTreeOf,
} from "@gatehouse/agent-protocol/gateway/content-tree";
import { signedText } from "@gatehouse/agent-protocol/gateway/envelope";
import {
  type Difference,
  gatewayLinkPath,
  gatewayLinkSubprotocols,
  type ServerMessage,
  type Whole,
} from "@gatehouse/agent-protocol/gateway/frames";
import { type ConfigurationName, configurationName } from "@gatehouse/agent-protocol/link/envelope";
import { HashTree, shareEntry } from "@gatehouse/agent-protocol/link/hash-tree";
import type { Tokened } from "./linked-tenant.ts";
import { SimulatedAgent } from "./simulated-agent.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** Figures since the last call of `take`. */
export interface Figures {
  acknowledged: number;
  bytes: number;
  wholes: number;
  differences: number;
  failures: number;
  /** A time of `performance.now()`. */
  lastAcknowledgedAt: number;
}

const nothing = (): Figures => ({
  acknowledged: 0,
  bytes: 0,
  wholes: 0,
  differences: 0,
  failures: 0,
  lastAcknowledgedAt: 0,
});

/** Peers and classes by text, so that the hashes of those that many gateways have are computed once. */
const peers = new Map<string, Peer>();
const classes = new Map<string, HashTree<Membership>>();

/** The content as trees that share peers and classes. Each gateway still verifies its own signed root. */
function sharedTreeOf(content: ConfigurationContent): ContentTree {
  const sharedPeers = Object.entries(content.peers).map(([key, peer]): [string, Peer] => {
    const shared = sharedOf(peers, `${key} ${JSON.stringify(peer)}`, () => peer);
    shareEntry(key, shared);
    return [key, shared];
  });
  const sharedClasses = Object.entries(content.classes).map(([key, members]): [string, HashTree<Membership>] => [
    key,
    sharedOf(classes, JSON.stringify(members), () => HashTree.of(Object.entries(members))),
  ]);
  return {
    ...contentTreeOf({ ...content, peers: {}, classes: {} }),
    peers: HashTree.of(sharedPeers),
    classes: HashTree.of(sharedClasses.filter(([, members]) => members.size > 0)),
  };
}

function sharedOf<Value>(known: Map<string, Value>, text: string, make: () => Value): Value {
  const value = known.get(text) ?? make();
  known.set(text, value);
  return value;
}

export class SimulatedGateways {
  figures = nothing();
  readonly #agents: Gateway[];
  /** Contents by root. Their roots are verified. */
  readonly contents = new Map<string, ContentTree>();

  constructor(gateways: readonly Tokened[]) {
    this.#agents = gateways.map((gateway) => new Gateway(this, gateway));
  }

  /** Returns the figures and resets them. */
  take(): Figures {
    const { figures } = this;
    this.figures = nothing();
    return figures;
  }

  /** Connects all agents at once to the server at a URL. @returns once the last one has its welcome */
  async connect(url: string): Promise<void> {
    const place = { url, path: gatewayLinkPath, subprotocol: gatewayLinkSubprotocols[2] };
    await Promise.all(this.#agents.map((agent) => agent.connect(place)));
  }

  cut(): void {
    for (const agent of this.#agents) agent.cut();
  }

  heartbeat(): void {
    for (const agent of this.#agents) agent.heartbeat();
  }

  /** The number of gateways that have a configuration. */
  get holding(): number {
    return this.#agents.filter(({ held }) => held !== undefined).length;
  }

  /** Removes contents that no agent uses. */
  tidy(): void {
    const roots = new Set(this.#agents.map(({ held }) => held?.envelope.header.root));
    for (const root of this.contents.keys()) if (!roots.has(root)) this.contents.delete(root);
  }
}

class Gateway extends SimulatedAgent<ServerMessage> {
  readonly #all: SimulatedGateways;
  readonly #publicKey = Buffer.concat([randomBytes(31), Buffer.of(0)]).toString("base64");
  protected readonly news = { load: 0.5, roundTripTimeMs: 5, peers: [] };
  held: { readonly name: ConfigurationName; readonly envelope: ConfigurationEnvelope } | undefined;

  constructor(all: SimulatedGateways, { id, token }: Tokened) {
    super(id, token);
    this.#all = all;
  }

  protected hello(): object {
    const { held } = this;
    const { root, expiresAt } = held?.envelope.header ?? { root: "", expiresAt: 0 };
    const enforces = held === undefined ? null : { ...held.name, root, expiresAt };
    return { type: "hello", agentVersion: "bench", publicKey: this.#publicKey, enforces, format: 1 };
  }

  protected came(bytes: number): void {
    this.#all.figures.bytes += bytes;
  }

  protected heard(message: ServerMessage): void {
    if (message.type === "whole" || message.type === "difference") this.#configured(message);
  }

  #configured(message: Whole | Difference): void {
    const { figures, contents } = this.#all;
    const { envelope } = message;
    const { root, gateway } = envelope.header;
    const name = configurationName(envelope.header, sha256);
    const isSigned = this.isSigned(signedText(name), envelope.signature);
    if (message.type === "whole") figures.wholes += 1;
    else figures.differences += 1;
    if (!isSigned || gateway !== this.id || !this.#isRight(message, root, contents)) {
      figures.failures += 1;
      this.say({ type: "failed", configuration: name, reason: "forged", message: "" });
      return;
    }
    this.held = { name, envelope };
    this.say({ type: "applied", configuration: name });
    figures.acknowledged += 1;
    figures.lastAcknowledgedAt = performance.now();
  }

  #isRight(message: Whole | Difference, root: string, contents: Map<string, ContentTree>): boolean {
    if (contents.has(root)) return true;
    const base = contents.get(this.held?.envelope.header.root ?? "");
    if (message.type === "difference" && base === undefined) return false;
    const content =
      message.type === "whole" || base === undefined
        ? sharedTreeOf((message as Whole).content) // a difference without a base was refused above
        : applyDifference(base, message.difference);
    if (contentRoot(content, sha256) !== root) return false;
    contents.set(root, content);
    return true;
  }
}
