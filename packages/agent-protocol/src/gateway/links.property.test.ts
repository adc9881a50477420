import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { budgeted, expectedTally } from "../../../../test/budget.ts";
import {
  type AgentLink,
  type AgentLinkEvent,
  newAgentLink,
  reconnectDelayMs,
  type VerifiedConfiguration,
} from "../link/agent-link.ts";
import { compareOrder, configurationName } from "../link/envelope.ts";
import { randomContent } from "../testing/random-content.ts";
import { enforcedConfiguration, type GatewayConfiguration, gatewayAgentLink } from "./agent-link.ts";
import type { ConfigurationContent, ConfigurationHeader } from "./configuration.ts";
import { configurationFrames } from "./configuration-frames.ts";
import { type ContentTree, contentOf, contentRoot, contentTreeOf } from "./content-tree.ts";
import { signedText } from "./envelope.ts";
import type { AgentMessage, Difference, ServerMessage, Whole } from "./frames.ts";
import {
  openServerLink,
  type ServerLink,
  type ServerLinkEvent,
  stepServerLink,
  type WantedConfiguration,
} from "./server-link.ts";

/** Gateways and servers without sockets. Messages wait in queues, and random events decide what perform next. */

const known = new Map<string, string>();
/** Caches hashes, because the same texts occur in many runs. */
function sha256(text: string): string {
  let hash = known.get(text);
  if (hash === undefined) {
    if (known.size > 200_000) known.clear();
    hash = createHash("sha256").update(text).digest("hex");
    known.set(text, hash);
  }
  return hash;
}

const tenant = "01980000-0000-7000-8000-000000000001";
const gateway = "01980000-0000-7000-8000-000000000002";
const tenantKey = "tenant";
const lifeMs = 1_000;
/** Replaces Ed25519. No other code in the simulation signs with the tenant's key. */
const signature = (text: string, key: string) => sha256(`${key} signs ${text}`);
const verify = (text: string, signed: string, key: string) => signed === signature(text, key);
const stepAgentLink = gatewayAgentLink(sha256, verify);

const pool: readonly ContentTree[] = fc
  .sample(randomContent, { numRuns: 6, seed: 5 })
  .map((content) => contentTreeOf(smallest(content)));

/** Reduces a content, so that many runs are fast. */
function smallest({ settings, peers, classes, resources, destinations }: ConfigurationContent): ConfigurationContent {
  const few = <Value>(map: Readonly<Record<string, Value>>) => Object.fromEntries(Object.entries(map).slice(0, 2));
  const fewMembers = Object.entries(few(classes)).map(([key, members]) => [key, few(members)]);
  return {
    settings,
    peers: few(peers),
    classes: Object.fromEntries(fewMembers),
    resources: few(resources),
    destinations: few(destinations),
  };
}

function sealed(
  generation: number,
  issuedAt: number,
  root: string,
  key = tenantKey,
): { readonly header: ConfigurationHeader; readonly signature: string } {
  const header = { format: 1, tenant, gateway, generation, issuedAt, expiresAt: issuedAt + lifeMs, root };
  return { header, signature: signature(signedText(configurationName(header, sha256)), key) };
}

class World {
  now = 1_000_000;
  generation = 1;
  wanted = 0;
  /** The generation that the replica knows. It may lag behind. */
  isKnown = 1;
  knownContent = 0;
  agent: AgentLink<GatewayConfiguration> = newAgentLink({ agent: gateway });
  server: ServerLink | undefined;
  /** Messages in transit, oldest first. */
  toServer: AgentMessage[] = [];
  toAgent: ServerMessage[] = [];
  /** Every configuration that was ever sent. An attacker may replay it. */
  readonly recorded: ServerMessage[] = [];
  readonly remembered = new Map<string, ContentTree>();
  readonly history: VerifiedConfiguration<GatewayConfiguration>[] = [];
  unacknowledged = 0;

  wantedConfiguration(): WantedConfiguration {
    const content = pool[this.knownContent];
    if (content === undefined) throw new Error("Unknown content.");
    const { now, isKnown: generation } = this;
    const expiresAt = now + lifeMs;
    return { generation, content, expiresAt, lastsUntil: now + lifeMs / 2, lastsAtMost: now + 2 * lifeMs };
  }

  receiveUpdate(): void {
    this.isKnown = this.generation;
    this.knownContent = this.wanted;
    if (this.server !== undefined) this.stepServer({ type: "wanted", wanted: this.wantedConfiguration() });
  }

  stepServer(event: ServerLinkEvent): void {
    if (this.server === undefined) return;
    const { link, outputs } = stepServerLink(this.server, event, {
      sha256,
      seal: (wanted, root, after) => {
        const isSame = after?.generation === wanted.generation;
        return sealed(wanted.generation, isSame ? Math.max(this.now, after.issuedAt + 1) : this.now, root);
      },
    });
    this.server = link;
    for (const output of outputs) {
      if (output.do === "send") {
        // Messages arrive as JSON. These contents are short, so each message is one frame.
        const [frame = ""] = configurationFrames(output.message);
        const message: ServerMessage = JSON.parse(frame);
        this.toAgent.push(message);
        this.recorded.push(message);
        if (link.inFlight !== undefined && link.inFlight.content !== undefined) {
          this.remembered.set(link.inFlight.name.hash, link.inFlight.content);
        }
        this.unacknowledged += 1;
        expect(this.unacknowledged).toBe(1);
      } else if (output.do === "close") this.cut();
      else this.unacknowledged = 0;
    }
    if (this.server?.inFlight === undefined) this.unacknowledged = 0;
  }

  stepAgent(event: AgentLinkEvent<Whole | Difference>): void {
    const before = this.agent.enforced;
    const { link, outputs } = stepAgentLink(this.agent, event, {
      sha256,
      verify: () => false,
      now: () => this.now,
      random: () => 0.5,
    });
    this.agent = link;
    if (link.enforced !== undefined && link.enforced !== before) this.enforced(before, link.enforced);
    for (const output of outputs) {
      if (output.do === "hello") {
        this.toServer.push({
          type: "hello",
          agentVersion: "1",
          publicKey: "",
          format: 1,
          enforces: enforcedConfiguration(output.enforced, output.latest),
        });
      } else if (output.do === "send") this.toServer.push(output.message);
      else if (output.do === "close") this.cut();
    }
  }

  /** Checks the invariants of every enforced configuration. */
  enforced(
    before: VerifiedConfiguration<GatewayConfiguration> | undefined,
    now: VerifiedConfiguration<GatewayConfiguration>,
  ): void {
    this.history.push(now);
    const { envelope, content } = now.configuration;
    const { header, signature: signed } = envelope;
    expect(verify(signedText(configurationName(header, sha256)), signed, tenantKey)).toBe(true);
    expect(contentRoot(contentTreeOf(contentOf(content)), sha256)).toBe(header.root);
    if (before !== undefined) expect(compareOrder(now.name, before.name)).toBeGreaterThan(0);
  }

  cut(): void {
    this.toServer = [];
    this.toAgent = [];
    this.server = undefined;
    this.unacknowledged = 0;
    if (this.agent.phase !== "away") this.stepAgent({ type: "cut" });
  }

  /** Loses the configuration that was being applied. The enforced one and the key are stored on disk. */
  restartAgent(): void {
    this.cut();
    const { tenant, signingKey, latest, enforced } = this.agent;
    this.agent = newAgentLink({ agent: gateway, tenant, signingKey, latest, enforced });
  }

  connect(): void {
    if (this.agent.phase !== "away") return;
    this.stepAgent({ type: "retry" });
    this.server = openServerLink(this.wantedConfiguration());
    this.stepAgent({ type: "connected" });
  }

  deliverToServer(remembers: boolean): void {
    const message = this.toServer.shift();
    if (message === undefined) return;
    if (message.type === "applied" || message.type === "failed") this.unacknowledged = 0;
    if (message.type === "hello") {
      const hash = message.enforces?.hash ?? "";
      const held = remembers ? this.remembered.get(hash) : undefined;
      this.toAgent.push({ type: "welcome", signingKey: tenantKey, heartbeatIntervalMs: 1000, now: this.now });
      this.stepServer({ type: "hello", enforces: message.enforces, held });
    } else if (message.type === "applied") this.stepServer({ type: "applied", configuration: message.configuration });
    else if (message.type === "failed") this.stepServer(message);
    else this.stepServer({ type: "heartbeat" });
  }

  deliverToAgent(): void {
    const message = this.toAgent.shift();
    if (message?.type === "welcome") this.stepAgent({ type: "welcome", message });
    else if (message?.type === "whole" || message?.type === "difference") {
      this.stepAgent({ type: "configuration", message });
    }
  }

  progress(): void {
    this.connect();
    this.deliverToServer(true);
    this.deliverToAgent();
    if (this.agent.applying !== undefined) this.stepAgent({ type: "applied" });
  }

  /** Completes everything in progress, without further failures. */
  settle(): void {
    this.receiveUpdate();
    for (let round = 0; round < 60; round += 1) {
      const isIdle = this.toServer.length + this.toAgent.length === 0;
      if (isIdle && this.agent.phase === "open" && this.server?.phase === "settled") return;
      this.progress();
      if (this.server?.phase === "refused") this.stepServer({ type: "retry" });
    }
  }
}

type RandomEvent =
  | {
      readonly what:
        | "connect"
        | "cut"
        | "to-agent"
        | "applied"
        | "failed"
        | "receiveUpdate"
        | "restart"
        | "server-retry"
        | "overdue"
        | "expired";
    }
  /** Some steps without failures. */
  | { readonly what: "progress"; readonly rounds: number }
  | { readonly what: "to-server"; readonly remembers: boolean }
  | { readonly what: "change"; readonly content: number; readonly isKnown: boolean }
  | { readonly what: "time"; readonly ms: number }
  | { readonly what: "replay"; readonly which: number }
  | { readonly what: "forge"; readonly how: "key" | "generation" | "content"; readonly content: number };

const often = (
  what: Exclude<RandomEvent, { what: "progress" | "to-server" | "change" | "time" | "replay" | "forge" }>["what"],
  weight: number,
) => ({
  arbitrary: fc.constant<RandomEvent>({ what }),
  weight,
});
const content = fc.nat(pool.length - 1);
const randomEvent: fc.Arbitrary<RandomEvent> = fc.oneof(
  often("connect", 4),
  {
    arbitrary: fc.integer({ min: 1, max: 4 }).map((rounds): RandomEvent => ({ what: "progress", rounds })),
    weight: 12,
  },
  often("cut", 1),
  often("to-agent", 8),
  { arbitrary: fc.boolean().map((remembers): RandomEvent => ({ what: "to-server", remembers })), weight: 8 },
  often("applied", 5),
  often("failed", 2),
  often("receiveUpdate", 2),
  often("restart", 1),
  often("server-retry", 1),
  often("overdue", 1),
  often("expired", 1),
  {
    arbitrary: fc
      .tuple(content, fc.boolean())
      .map(([to, isKnown]): RandomEvent => ({ what: "change", content: to, isKnown })),
    weight: 5,
  },
  { arbitrary: fc.integer({ min: 0, max: 900 }).map((ms): RandomEvent => ({ what: "time", ms })), weight: 2 },
  { arbitrary: fc.nat(20).map((which): RandomEvent => ({ what: "replay", which })), weight: 2 },
  {
    arbitrary: fc
      .tuple(fc.constantFrom("key" as const, "generation" as const, "content" as const), content)
      .map(([how, of]): RandomEvent => ({ what: "forge", how, content: of })),
    weight: 2,
  },
);

function perform(world: World, each: RandomEvent): void {
  switch (each.what) {
    case "connect":
      world.connect();
      break;
    case "progress":
      for (let round = 0; round < each.rounds; round += 1) world.progress();
      break;
    case "cut":
      world.cut();
      break;
    case "to-agent":
      world.deliverToAgent();
      break;
    case "to-server":
      world.deliverToServer(each.remembers);
      break;
    case "applied":
      if (world.agent.applying !== undefined) world.stepAgent({ type: "applied" });
      break;
    case "failed":
      if (world.agent.applying !== undefined) world.stepAgent({ type: "failed", message: "refused" });
      break;
    case "receiveUpdate":
      world.receiveUpdate();
      break;
    case "server-retry":
      world.stepServer({ type: "retry" });
      break;
    case "overdue":
      world.stepAgent({ type: "overdue" });
      break;
    case "expired":
      if (world.agent.enforced !== undefined) world.stepAgent({ type: "expired" });
      break;
    case "restart":
      world.restartAgent();
      break;
    case "change":
      world.generation += 1;
      world.wanted = each.content;
      if (each.isKnown) world.receiveUpdate();
      break;
    case "time":
      world.now += each.ms;
      break;
    case "replay": {
      const message = world.recorded[each.which % Math.max(1, world.recorded.length)];
      if (message !== undefined) inject(world, message);
      break;
    }
    case "forge":
      forge(world, each);
  }
}

function forge(world: World, { how, content: of }: Extract<RandomEvent, { what: "forge" }>): void {
  const tree = pool[of];
  if (tree === undefined) return;
  const root = contentRoot(tree, sha256);
  const envelope = sealed(world.generation + 100, world.now, root, how === "key" ? "another" : tenantKey);
  const other = pool[(of + 1) % pool.length] ?? tree;
  const isSame = contentRoot(other, sha256) === root;
  if (how === "generation") {
    const header = { ...envelope.header, generation: envelope.header.generation + 1 };
    inject(world, { type: "whole", envelope: { ...envelope, header }, content: contentOf(tree) });
  } else if (how === "key") inject(world, { type: "whole", envelope, content: contentOf(tree) });
  else if (!isSame) inject(world, { type: "whole", envelope, content: contentOf(other) });
}

/** Injects a message. The server does not get the answer, because it sent no request. */
function inject(world: World, message: ServerMessage): void {
  if (world.agent.phase !== "open" || world.agent.applying !== undefined) return;
  if (message.type !== "whole" && message.type !== "difference") return;
  const before = world.agent.enforced;
  const sent = world.toServer.length;
  world.stepAgent({ type: "configuration", message });
  expect(world.agent.enforced).toBe(before);
  // A lost configuration may be accepted as if it were sent again. Nothing else is accepted.
  if (world.agent.applying === undefined) world.toServer.splice(sent);
  else world.cut();
}

test("after any sequence of events, every gateway enforces exactly the desired configuration", () => {
  const tally = { enforced: 0, several: 0 };
  fc.assert(
    fc.property(fc.array(randomEvent, { minLength: 8, maxLength: 24, size: "max" }), (randomEvents) => {
      const world = new World();
      for (const each of randomEvents) perform(world, each);
      world.settle();
      const wanted = pool[world.wanted];
      if (wanted === undefined) throw new Error("Unknown content.");
      expect(world.agent.enforced?.configuration.envelope.header.root).toBe(contentRoot(wanted, sha256));
      expect(world.server?.phase).toBe("settled");
      tally.enforced += world.history.length;
      if (world.history.length > 2) tally.several += 1;
    }),
    { numRuns: budgeted(10_000) },
  );
  expect(tally.enforced).toBeGreaterThanOrEqual(expectedTally(10_000));
  expect(tally.several).toBeGreaterThanOrEqual(expectedTally(1_000));
});

test("reconnections spread over a bound that doubles up to 30 seconds", () => {
  expect(reconnectDelayMs(0, 0)).toBe(0);
  expect(reconnectDelayMs(0, 0.999)).toBeLessThan(500);
  expect(reconnectDelayMs(3, 0.5)).toBe(2_000);
  expect(reconnectDelayMs(1_000, 0.5)).toBe(15_000);
});
