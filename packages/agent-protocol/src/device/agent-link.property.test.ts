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
const stranger = "01980000-0000-7000-8000-000000000003";
const tenantKey = "tenant";
const lifeMs = 1_000;
/** In place of Ed25519: nobody else here knows how to make one for the tenant's key. */
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
  return { header: whole, signature: signature(text, key), content: content as DeviceConfiguration }; // also what is none
}

const welcome: DeviceWelcome = {
  type: "welcome",
  tenant,
  device,
  signingKey: tenantKey,
  heartbeatIntervalMs: 1_000,
  now: 0,
};

/** A device, and a server that follows the rules of SPEC.md, as far as they are about configurations. */
class World {
  now = 1_000_000;
  generation = 1;
  wanted = 1;
  link: DeviceLink = newAgentLink({ agent: device });
  awaiting = false;
  readonly recorded: SignedDeviceConfiguration[] = [];
  readonly outputs: DeviceOutput[] = [];
  used = 0;

  tell(event: DeviceEvent): void {
    const before = this.link;
    const { link, outputs } = stepAgentLink(before, event, {
      sha256,
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

  /** What has to be so of everything that is ever used. */
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
    this.tell({ type: "cut" });
  }

  connect(): void {
    if (this.link.phase !== "away") return;
    this.awaiting = false;
    this.tell({ type: "retry" });
    this.tell({ type: "connected" });
  }

  send(configuration: SignedDeviceConfiguration): void {
    if (this.link.phase !== "open" || this.awaiting) return;
    this.awaiting = true;
    this.tell({ type: "configuration", message: configuration });
  }

  sendWanted(): void {
    this.now += 1;
    const configuration = signed(contentOf(this.wanted), { generation: this.generation, issuedAt: this.now });
    this.recorded.push(configuration);
    this.send(configuration);
  }

  settle(): void {
    for (let round = 0; round < 20; round += 1) {
      if (this.link.applying !== undefined) this.tell({ type: "applied" });
      this.connect();
      if (this.link.phase === "greeting") this.tell({ type: "welcome", message: welcome });
      if (this.link.enforced?.configuration.content.ipv4 === contentOf(this.wanted).ipv4) return;
      this.sendWanted();
    }
  }
}

type Happening = (world: World) => void;
const happening: fc.Arbitrary<Happening> = fc.oneof(
  fc.constant<Happening>((world) => world.connect()),
  fc.constant<Happening>((world) => world.cut()),
  fc.constant<Happening>((world) => world.tell({ type: "welcome", message: welcome })),
  fc.constant<Happening>((world) => world.tell({ type: "welcome", message: { ...welcome, signingKey: "another" } })),
  fc.constant<Happening>((world) => world.sendWanted()),
  fc.constant<Happening>((world) => world.sendWanted()),
  fc.constant<Happening>((world) => {
    if (world.link.applying !== undefined) world.tell({ type: "applied" });
  }),
  fc.constant<Happening>((world) => {
    if (world.link.applying !== undefined) world.tell({ type: "failed", message: "refused" });
  }),
  fc.constant<Happening>((world) => world.tell({ type: "expired" })),
  fc.constant<Happening>((world) => world.tell({ type: "overdue" })),
  fc.constant<Happening>((world) => world.tell({ type: "goodbye", message: {} })),
  fc.nat(900).map(
    (ms): Happening =>
      (world) => {
        world.now += ms;
      },
  ),
  fc.integer({ min: 1, max: 9 }).map(
    (wanted): Happening =>
      (world) => {
        world.generation += 1;
        world.wanted = wanted;
      },
  ),
  fc.nat(9).map(
    (which): Happening =>
      (world) => {
        const old = world.recorded[which];
        if (old !== undefined) world.send(old);
      },
  ),
  fc.constantFrom<Happening>(
    (world) => world.send(signed(contentOf(7), { generation: 99, issuedAt: world.now }, "another")),
    (world) => world.send(signed(contentOf(7), { generation: 99, issuedAt: world.now, of: stranger })),
    (world) => world.send({ ...signed(contentOf(7), { generation: 99, issuedAt: world.now }), content: contentOf(8) }),
    (world) => world.send(signed({ something: "else" }, { generation: 99, issuedAt: world.now })),
  ),
);

test("whatever happens in whatever order, a device comes to use what is wanted, and never anything that is not the tenant's", () => {
  let used = 0;
  fc.assert(
    fc.property(fc.array(happening, { minLength: 5, maxLength: 30, size: "max" }), (happenings) => {
      const world = new World();
      // The first server that is met is the tenant's: whom to trust is decided then.
      world.connect();
      world.tell({ type: "welcome", message: welcome });
      for (const happens of happenings) happens(world);
      world.settle();
      expect(world.link.enforced?.configuration.content).toEqual(contentOf(world.wanted));
      used += world.used;
    }),
    { numRuns: 3_000 },
  );
  expect(used).toBeGreaterThan(3_000);
}, 60_000);

const at = 1_000_000;
const good = signed(contentOf(1), { generation: 5, issuedAt: at });
const name = (configuration: SignedDeviceConfiguration) => configurationName(configuration.header, sha256);

function opened(state: DeviceState = {}): DeviceLink {
  return { ...newAgentLink({ agent: device, tenant, signingKey: tenantKey, ...state }), phase: "open" };
}

function step(link: DeviceLink, event: DeviceEvent, now = at) {
  return stepAgentLink(link, event, { sha256, now: () => now, random: () => 0.5 });
}

const used = { enforced: { configuration: good, name: name(good) } };
const refused: readonly (readonly [reason: string, given: SignedDeviceConfiguration])[] = [
  ["forged", signed(contentOf(2), { generation: 6, issuedAt: at }, "another")],
  ["forged", { ...signed(contentOf(2), { generation: 6, issuedAt: at }), header: { ...good.header, generation: 6 } }],
  ["forged", signed(contentOf(2), { generation: 6, issuedAt: at, of: stranger })],
  ["forged", signed(contentOf(2), { generation: 6, issuedAt: at, in: stranger })],
  // What is wrong with it first is told, in the order of SPEC.md.
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

test.each(refused)("answers %s, and goes on with what it has", (reason, configuration) => {
  const { link, outputs } = step(opened(used), { type: "configuration", message: configuration });
  expect(outputs).toMatchObject([
    { do: "send", message: { type: "failed", reason, configuration: name(configuration) } },
  ]);
  expect(link.enforced?.configuration).toBe(good);
  expect(link.applying).toBeUndefined();
});

test("the very one that is used is applied again; after it expired only a later one or itself is taken", () => {
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

test("pins whom it meets first, and takes nobody else afterwards", () => {
  const greeting: DeviceLink = { ...newAgentLink<SignedDeviceConfiguration>({ agent: device }), phase: "greeting" };
  const met = step(greeting, { type: "welcome", message: welcome });
  expect(met.outputs).toEqual([{ do: "pin", identity: welcome }]);
  const later: DeviceLink = { ...met.link, phase: "greeting" };
  for (const [changes, about] of [
    [{ signingKey: "another" }, "signing_key"],
    [{ tenant: stranger }, "tenant"],
    [{ device: stranger }, "device"],
  ] as const) {
    const { link, outputs } = step(later, { type: "welcome", message: { ...welcome, ...changes } });
    expect(outputs).toMatchObject([{ do: "alarm", about }, { do: "close" }, { do: "wait" }]);
    expect(link.phase).toBe("away");
  }
});

test("every phase has an answer to every event, and none changes what is used but having applied it, or its end", () => {
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

test("waits as long as the server says, and the usual time after it", () => {
  const message = { type: "goodbye", reason: "overloaded", retryAfterMs: 5_000 } as const;
  expect(step(opened(), { type: "goodbye", message }).outputs).toEqual([
    { do: "close" },
    { do: "wait", delayMs: 5_250 },
  ]);
});
