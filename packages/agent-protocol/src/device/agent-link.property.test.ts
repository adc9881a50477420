import { createHash } from "node:crypto";
import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type AgentLink,
  type AgentLinkEvent,
  type AgentLinkOutput,
  agentLinkPhases,
  newAgentLink,
  type VerifiedConfiguration,
} from "../link/agent-link.ts";
import { compareOrder, configurationName } from "../link/envelope.ts";
import { deviceAgentLink, type explanations } from "./agent-link.ts";
import type { SignedDeviceConfiguration } from "./configuration.ts";
import { deviceContentHash, deviceSignedText, type UnreadConfiguration } from "./envelope.ts";
import type { DeviceWelcome } from "./frames.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const tenant = "01980000-0000-7000-8000-000000000001";
const device = "01980000-0000-7000-8000-000000000002";
const otherId = "01980000-0000-7000-8000-000000000003";
const tenantKey = "tenant";
const lifeMs = 1_000;
/** Replaces Ed25519. No other code in the test signs with the tenant's key. */
const signature = (text: string, key: string) => sha256(`${key} signs ${text}`);
const verify = (text: string, signed: string, key: string) => signed === signature(text, key);
const hasForm = (content: unknown) => content !== null && typeof content === "object" && "gateways" in content;

const stepAgentLink = deviceAgentLink({ sha256, verify, hasForm });

type DeviceLink = AgentLink<SignedDeviceConfiguration>;
type DeviceEvent = AgentLinkEvent<UnreadConfiguration>;
type DeviceOutput = AgentLinkOutput<SignedDeviceConfiguration, keyof typeof explanations>;
type DeviceState = Parameters<typeof newAgentLink<SignedDeviceConfiguration>>[0];

const contentOf = (number: number): DeviceConfiguration => ({
  device,
  ipv4: `100.64.0.${number}`,
  ipv6: "fd64::1",
  gateways: [],
});

function signed(
  content: unknown,
  header: { generation: number; issuedAt: number; of?: string; in?: string; format?: number },
  key = tenantKey,
): SignedDeviceConfiguration {
  const { generation, issuedAt, of = device, in: within = tenant, format = 1 } = header;
  const whole = {
    format,
    tenant: within,
    device: of,
    generation,
    issuedAt,
    expiresAt: issuedAt + lifeMs,
    content: deviceContentHash(content, sha256),
  };
  const text = deviceSignedText(configurationName(whole, sha256));
  return { header: whole, signature: signature(text, key), content: content as DeviceConfiguration }; // may be invalid
}

const welcome: DeviceWelcome = {
  type: "welcome",
  tenant,
  device,
  signingKey: tenantKey,
  heartbeatIntervalMs: 1_000,
  now: 0,
};

/** A device, and a server that follows the rules of SPEC.md for configurations. */
class World {
  now = 1_000_000;
  generation = 1;
  wanted = 1;
  link: DeviceLink = newAgentLink({ agent: device });
  awaiting = false;
  readonly recorded: SignedDeviceConfiguration[] = [];
  readonly outputs: DeviceOutput[] = [];
  used = 0;

  advance(event: DeviceEvent): void {
    const before = this.link;
    const { link, outputs } = stepAgentLink(before, event, {
      sha256,
      verify: () => false,
      now: () => this.now,
      random: () => 0.5,
    });
    this.link = link;
    if (link.enforced !== undefined && link.enforced !== before.enforced) this.isUsed(before, link.enforced);
    for (const output of outputs) {
      this.outputs.push(output);
      if (output.do === "send") {
        expect(this.awaiting).toBe(true);
        this.awaiting = false;
      }
    }
  }

  /** Checks the invariants of every configuration that is used. */
  isUsed(before: DeviceLink, { configuration, name }: VerifiedConfiguration<SignedDeviceConfiguration>): void {
    this.used += 1;
    const { header, content } = configuration;
    expect(verify(deviceSignedText(configurationName(header, sha256)), configuration.signature, tenantKey)).toBe(true);
    expect(deviceContentHash(content, sha256)).toBe(header.content);
    expect([header.device, header.tenant]).toEqual([device, tenant]);
    if (before.latest !== undefined && before.latest.hash !== name.hash) {
      expect(compareOrder(name, before.latest)).toBeGreaterThan(0);
    }
  }

  cut(): void {
    this.awaiting = false;
    this.advance({ type: "cut" });
  }

  connect(): void {
    if (this.link.phase !== "away") return;
    this.awaiting = false;
    this.advance({ type: "retry" });
    this.advance({ type: "connected" });
  }

  send(configuration: SignedDeviceConfiguration): void {
    if (this.link.phase !== "open" || this.awaiting) return;
    this.awaiting = true;
    this.advance({ type: "configuration", message: configuration });
  }

  sendWanted(): void {
    this.now += 1;
    const configuration = signed(contentOf(this.wanted), { generation: this.generation, issuedAt: this.now });
    this.recorded.push(configuration);
    this.send(configuration);
  }

  settle(): void {
    for (let round = 0; round < 20; round += 1) {
      if (this.link.applying !== undefined) this.advance({ type: "applied" });
      this.connect();
      if (this.link.phase === "greeting") this.advance({ type: "welcome", message: welcome });
      if (this.link.enforced?.configuration.content.ipv4 === contentOf(this.wanted).ipv4) return;
      this.sendWanted();
    }
  }
}

type RandomEvent = (world: World) => void;
const randomEvent: fc.Arbitrary<RandomEvent> = fc.oneof(
  fc.constant<RandomEvent>((world) => world.connect()),
  fc.constant<RandomEvent>((world) => world.cut()),
  fc.constant<RandomEvent>((world) => world.advance({ type: "welcome", message: welcome })),
  fc.constant<RandomEvent>((world) =>
    world.advance({ type: "welcome", message: { ...welcome, signingKey: "another" } }),
  ),
  fc.constant<RandomEvent>((world) => world.sendWanted()),
  fc.constant<RandomEvent>((world) => world.sendWanted()),
  fc.constant<RandomEvent>((world) => {
    if (world.link.applying !== undefined) world.advance({ type: "applied" });
  }),
  fc.constant<RandomEvent>((world) => {
    if (world.link.applying !== undefined) world.advance({ type: "failed", message: "refused" });
  }),
  fc.constant<RandomEvent>((world) => world.advance({ type: "expired" })),
  fc.constant<RandomEvent>((world) => world.advance({ type: "overdue" })),
  fc.constant<RandomEvent>((world) => world.advance({ type: "goodbye", message: {} })),
  fc.nat(900).map(
    (ms): RandomEvent =>
      (world) => {
        world.now += ms;
      },
  ),
  fc.integer({ min: 1, max: 9 }).map(
    (wanted): RandomEvent =>
      (world) => {
        world.generation += 1;
        world.wanted = wanted;
      },
  ),
  fc.nat(9).map(
    (which): RandomEvent =>
      (world) => {
        const old = world.recorded[which];
        if (old !== undefined) world.send(old);
      },
  ),
  fc.constantFrom<RandomEvent>(
    (world) => world.send(signed(contentOf(7), { generation: 99, issuedAt: world.now }, "another")),
    (world) => world.send(signed(contentOf(7), { generation: 99, issuedAt: world.now, of: otherId })),
    (world) => world.send({ ...signed(contentOf(7), { generation: 99, issuedAt: world.now }), content: contentOf(8) }),
    (world) => world.send(signed({ something: "else" }, { generation: 99, issuedAt: world.now })),
  ),
);

test("after any sequence of events, a device uses the desired configuration, and never one of another tenant", () => {
  let used = 0;
  fc.assert(
    fc.property(fc.array(randomEvent, { minLength: 5, maxLength: 30, size: "max" }), (randomEvents) => {
      const world = new World();
      // The first server is the tenant's, and its key gets pinned.
      world.connect();
      world.advance({ type: "welcome", message: welcome });
      for (const perform of randomEvents) perform(world);
      world.settle();
      expect(world.link.enforced?.configuration.content).toEqual(contentOf(world.wanted));
      used += world.used;
    }),
    { numRuns: 3_000 },
  );
  expect(used).toBeGreaterThan(3_000);
});

const at = 1_000_000;
const good = signed(contentOf(1), { generation: 5, issuedAt: at });
const name = (configuration: SignedDeviceConfiguration) => configurationName(configuration.header, sha256);

function opened(state: DeviceState = {}): DeviceLink {
  return { ...newAgentLink({ agent: device, tenant, signingKey: tenantKey, ...state }), phase: "open" };
}

function step(link: DeviceLink, event: DeviceEvent, now = at) {
  return stepAgentLink(link, event, { sha256, verify: () => false, now: () => now, random: () => 0.5 });
}

const used = { enforced: { configuration: good, name: name(good) } };
const refused: readonly (readonly [reason: string, given: SignedDeviceConfiguration])[] = [
  ["forged", signed(contentOf(2), { generation: 6, issuedAt: at }, "another")],
  ["forged", { ...signed(contentOf(2), { generation: 6, issuedAt: at }), header: { ...good.header, generation: 6 } }],
  ["forged", signed(contentOf(2), { generation: 6, issuedAt: at, of: otherId })],
  ["forged", signed(contentOf(2), { generation: 6, issuedAt: at, in: otherId })],
  // The first failure in the order of SPEC.md is reported.
  ["unknown_format", signed({ of: "later" }, { generation: 1, issuedAt: at - 5_000, format: 2 })],
  ["expired", signed({ of: "nothing" }, { generation: 1, issuedAt: at - lifeMs })],
  ["replayed", signed({ of: "nothing" }, { generation: 4, issuedAt: at + 1 })],
  ["replayed", signed(contentOf(2), { generation: 5, issuedAt: at })],
  ["malformed", signed({ of: "nothing" }, { generation: 6, issuedAt: at })],
  ["malformed", { ...signed(contentOf(2), { generation: 6, issuedAt: at }), content: contentOf(3) }],
  [
    "malformed",
    { ...signed(contentOf(2), { generation: 6, issuedAt: at }), content: { ...contentOf(2), validUntil: 0.5 } },
  ],
];

test.each(refused)("answers %s, and keeps its configuration", (reason, configuration) => {
  const { link, outputs } = step(opened(used), { type: "configuration", message: configuration });
  expect(outputs).toMatchObject([
    { do: "send", message: { type: "failed", reason, configuration: name(configuration) } },
  ]);
  expect(link.enforced?.configuration).toBe(good);
  expect(link.applying).toBeUndefined();
});

test("the configuration in use is acknowledged again; after its expiry, only itself or a later one is accepted", () => {
  const again = step(opened(used), { type: "configuration", message: good });
  expect(again.outputs).toEqual([{ do: "send", message: { type: "applied", configuration: name(good) } }]);
  const { link: left, outputs } = step(opened(used), { type: "expired" });
  expect(left).toMatchObject({ phase: "away", enforced: undefined });
  expect(outputs).toMatchObject([{ do: "close" }, { do: "wait" }]);
  const link: DeviceLink = { ...left, phase: "open" };
  const older = signed(contentOf(2), { generation: 4, issuedAt: at });
  expect(step(link, { type: "configuration", message: older }).outputs).toMatchObject([
    { message: { reason: "replayed" } },
  ]);
  const later = signed(contentOf(2), { generation: 5, issuedAt: at + 1 });
  expect(step(link, { type: "configuration", message: later }).outputs).toMatchObject([{ do: "apply" }]);
});

test("pins the first server, and refuses all others", () => {
  const greeting: DeviceLink = { ...newAgentLink<SignedDeviceConfiguration>({ agent: device }), phase: "greeting" };
  const met = step(greeting, { type: "welcome", message: welcome });
  expect(met.outputs).toEqual([{ do: "pin", identity: welcome }]);
  const later: DeviceLink = { ...met.link, phase: "greeting" };
  for (const [changes, about] of [
    [{ signingKey: "another" }, "signing_key"],
    [{ tenant: otherId }, "tenant"],
    [{ device: otherId }, "device"],
  ] as const) {
    const { link, outputs } = step(later, { type: "welcome", message: { ...welcome, ...changes } });
    expect(outputs).toMatchObject([{ do: "alarm", about }, { do: "close" }, { do: "wait" }]);
    expect(link.phase).toBe("away");
  }
});

test("every phase handles every event, and only applying or expiry changes the configuration in use", () => {
  const events: readonly DeviceEvent[] = [
    { type: "connected" },
    { type: "cut" },
    { type: "retry" },
    { type: "welcome", message: welcome },
    { type: "configuration", message: signed(contentOf(2), { generation: 6, issuedAt: at }) },
    { type: "goodbye", message: { retryAfterMs: 5_000 } },
    { type: "failed", message: "refused" },
    { type: "overdue" },
  ];
  for (const phase of agentLinkPhases) {
    for (const event of events) {
      const { link } = step({ ...opened(used), phase }, event);
      expect(link.enforced?.configuration, `${phase} ${event.type}`).toBe(good);
    }
  }
});

test("waits for the time that the server requests, plus the usual delay", () => {
  const message = { type: "goodbye", reason: "overloaded", retryAfterMs: 5_000 } as const;
  expect(step(opened(), { type: "goodbye", message }).outputs).toEqual([
    { do: "close" },
    { do: "wait", delayMs: 5_250 },
  ]);
});
