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

/** Gateways and servers without sockets: messages wait in queues, and chance says what happens next. */

const known = new Map<string, string>();
/** The same texts come up again and again in so many runs. */
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
/** In place of Ed25519: nobody else in the simulation knows how to make one for the tenant's key. */
const signature = (text: string, key: string) => sha256(`${key} signs ${text}`);
const verify = (text: string, signed: string, key: string) => signed === signature(text, key);
const stepAgentLink = gatewayAgentLink(sha256, verify);

const pool: readonly ContentTree[] = fc
  .sample(randomContent, { numRuns: 6, seed: 5 })
  .map((content) => contentTreeOf(smallest(content)));

/** So many runs have no time for more. */
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
  /** A replica may not have heard of the last change yet. */
  heard = 1;
  heardContent = 0;
  agent: AgentLink<GatewayConfiguration> = newAgentLink({ agent: gateway });
  server: ServerLink | undefined;
  /** What is on its way, oldest first. */
  toServer: AgentMessage[] = [];
  toAgent: ServerMessage[] = [];
  /** Every configuration that was ever sent: somebody may have kept it. */
  readonly recorded: ServerMessage[] = [];
  readonly remembered = new Map<string, ContentTree>();
  readonly history: VerifiedConfiguration<GatewayConfiguration>[] = [];
  unacknowledged = 0;

  wantedConfiguration(): WantedConfiguration {
    const content = pool[this.heardContent];
    if (content === undefined) throw new Error("There is no such content.");
    return { generation: this.heard, content, lastsUntil: this.now + lifeMs / 2 };
  }

  hears(): void {
    this.heard = this.generation;
    this.heardContent = this.wanted;
    if (this.server !== undefined) this.tellServer({ type: "wanted", wanted: this.wantedConfiguration() });
  }

  tellServer(event: ServerLinkEvent): void {
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
        // As it arrives.
        const message: ServerMessage = JSON.parse(JSON.stringify(output.message));
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

  tellAgent(event: AgentLinkEvent<Whole | Difference>): void {
    const before = this.agent.enforced;
    const { link, outputs } = stepAgentLink(this.agent, event, {
      sha256,
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
          enforces: enforcedConfiguration(output.enforced),
        });
      } else if (output.do === "send") this.toServer.push(output.message);
      else if (output.do === "close") this.cut();
    }
  }

  /** What has to be so of everything that is ever enforced. */
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
    if (this.agent.phase !== "away") this.tellAgent({ type: "cut" });
  }

  /** What was being applied is lost; what is enforced and the key are kept on disk. */
  restartAgent(): void {
    this.cut();
    const { tenant, signingKey, latest, enforced } = this.agent;
    this.agent = newAgentLink({ agent: gateway, tenant, signingKey, latest, enforced });
  }

  connect(): void {
    if (this.agent.phase !== "away") return;
    this.tellAgent({ type: "retry" });
    this.server = openServerLink(this.wantedConfiguration());
    this.tellAgent({ type: "connected" });
  }

  deliverToServer(remembers: boolean): void {
    const message = this.toServer.shift();
    if (message === undefined) return;
    if (message.type === "applied" || message.type === "failed") this.unacknowledged = 0;
    if (message.type === "hello") {
      const hash = message.enforces?.hash ?? "";
      const held = remembers ? this.remembered.get(hash) : undefined;
      this.toAgent.push({ type: "welcome", signingKey: tenantKey, heartbeatIntervalMs: 1000, now: this.now });
      this.tellServer({ type: "hello", enforces: message.enforces, held });
    } else if (message.type === "applied") this.tellServer({ type: "applied", configuration: message.configuration });
    else if (message.type === "failed") this.tellServer(message);
    else this.tellServer({ type: "heartbeat" });
  }

  deliverToAgent(): void {
    const message = this.toAgent.shift();
    if (message?.type === "welcome") this.tellAgent({ type: "welcome", message });
    else if (message?.type === "whole" || message?.type === "difference") {
      this.tellAgent({ type: "configuration", message });
    }
  }

  progress(): void {
    this.connect();
    this.deliverToServer(true);
    this.deliverToAgent();
    if (this.agent.applying !== undefined) this.tellAgent({ type: "applied" });
  }

  /** Brings everything that is under way to its end, and nothing fails any more. */
  settle(): void {
    this.hears();
    for (let round = 0; round < 60; round += 1) {
      const isIdle = this.toServer.length + this.toAgent.length === 0;
      if (isIdle && this.agent.phase === "open" && this.server?.phase === "settled") return;
      this.progress();
      if (this.server?.phase === "refused") this.tellServer({ type: "retry" });
    }
  }
}

type Happening =
  | {
      readonly what:
        | "connect"
        | "cut"
        | "to-agent"
        | "applied"
        | "failed"
        | "hears"
        | "restart"
        | "server-retry"
        | "overdue";
    }
  /** Some steps in which nothing goes wrong. */
  | { readonly what: "progress"; readonly rounds: number }
  | { readonly what: "to-server"; readonly remembers: boolean }
  | { readonly what: "change"; readonly content: number; readonly heard: boolean }
  | { readonly what: "time"; readonly ms: number }
  | { readonly what: "replay"; readonly which: number }
  | { readonly what: "forge"; readonly how: "key" | "generation" | "content"; readonly content: number };

const often = (
  what: Exclude<Happening, { what: "progress" | "to-server" | "change" | "time" | "replay" | "forge" }>["what"],
  weight: number,
) => ({
  arbitrary: fc.constant<Happening>({ what }),
  weight,
});
const content = fc.nat(pool.length - 1);
const happening: fc.Arbitrary<Happening> = fc.oneof(
  often("connect", 4),
  { arbitrary: fc.integer({ min: 1, max: 4 }).map((rounds): Happening => ({ what: "progress", rounds })), weight: 12 },
  often("cut", 1),
  often("to-agent", 8),
  { arbitrary: fc.boolean().map((remembers): Happening => ({ what: "to-server", remembers })), weight: 8 },
  often("applied", 5),
  often("failed", 2),
  often("hears", 2),
  often("restart", 1),
  often("server-retry", 1),
  often("overdue", 1),
  {
    arbitrary: fc
      .tuple(content, fc.boolean())
      .map(([to, heard]): Happening => ({ what: "change", content: to, heard })),
    weight: 5,
  },
  { arbitrary: fc.integer({ min: 0, max: 900 }).map((ms): Happening => ({ what: "time", ms })), weight: 2 },
  { arbitrary: fc.nat(20).map((which): Happening => ({ what: "replay", which })), weight: 2 },
  {
    arbitrary: fc
      .tuple(fc.constantFrom("key" as const, "generation" as const, "content" as const), content)
      .map(([how, of]): Happening => ({ what: "forge", how, content: of })),
    weight: 2,
  },
);

function happens(world: World, each: Happening): void {
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
      if (world.agent.applying !== undefined) world.tellAgent({ type: "applied" });
      break;
    case "failed":
      if (world.agent.applying !== undefined) world.tellAgent({ type: "failed", message: "refused" });
      break;
    case "hears":
      world.hears();
      break;
    case "server-retry":
      world.tellServer({ type: "retry" });
      break;
    case "overdue":
      world.tellAgent({ type: "overdue" });
      break;
    case "restart":
      world.restartAgent();
      break;
    case "change":
      world.generation += 1;
      world.wanted = each.content;
      if (each.heard) world.hears();
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

function forge(world: World, { how, content: of }: Extract<Happening, { what: "forge" }>): void {
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

/** What somebody puts into the connection; the server never hears the answer, as it did not ask. */
function inject(world: World, message: ServerMessage): void {
  if (world.agent.phase !== "open" || world.agent.applying !== undefined) return;
  if (message.type !== "whole" && message.type !== "difference") return;
  const before = world.agent.enforced;
  const sent = world.toServer.length;
  world.tellAgent({ type: "configuration", message });
  expect(world.agent.enforced).toBe(before);
  // One that was lost on its way is as good as sent again; nothing else is taken.
  if (world.agent.applying === undefined) world.toServer.splice(sent);
  else world.cut();
}

test("whatever happens in whatever order, every gateway ends up with exactly what is wanted", () => {
  const tally = { enforced: 0, several: 0 };
  fc.assert(
    fc.property(fc.array(happening, { minLength: 8, maxLength: 24, size: "max" }), (happenings) => {
      const world = new World();
      for (const each of happenings) happens(world, each);
      world.settle();
      const wanted = pool[world.wanted];
      if (wanted === undefined) throw new Error("There is no such content.");
      expect(world.agent.enforced?.configuration.envelope.header.root).toBe(contentRoot(wanted, sha256));
      expect(world.server?.phase).toBe("settled");
      tally.enforced += world.history.length;
      if (world.history.length > 2) tally.several += 1;
    }),
    { numRuns: budgeted(10_000) },
  );
  expect(tally.enforced).toBeGreaterThanOrEqual(expectedTally(10_000));
  expect(tally.several).toBeGreaterThanOrEqual(expectedTally(1_000));
}, 120_000);

test("gateways that lose a server together come back spread over the whole of a bound that doubles up to half a minute", () => {
  expect(reconnectDelayMs(0, 0)).toBe(0);
  expect(reconnectDelayMs(0, 0.999)).toBeLessThan(500);
  expect(reconnectDelayMs(3, 0.5)).toBe(2_000);
  expect(reconnectDelayMs(1_000, 0.5)).toBe(15_000);
});
