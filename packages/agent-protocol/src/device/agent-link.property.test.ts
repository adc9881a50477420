import { createHash } from "node:crypto";
import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import fc from "fast-check";
import { expect, test } from "vitest";
import { compareOrder, configurationName } from "../link/envelope.ts";
import {
  type DeviceAgentLink,
  type DeviceAgentLinkEvent,
  type DeviceAgentLinkOutput,
  deviceAgentLinkPhases,
  newDeviceAgentLink,
  stepDeviceAgentLink,
  type VerifiedDeviceConfiguration,
} from "./agent-link.ts";
import type { SignedDeviceConfiguration } from "./configuration.ts";
import { deviceContentHash, deviceSignedText } from "./envelope.ts";
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
  link: DeviceAgentLink = newDeviceAgentLink(device);
  awaiting = false;
  readonly recorded: SignedDeviceConfiguration[] = [];
  readonly outputs: DeviceAgentLinkOutput[] = [];
  used = 0;

  tell(event: DeviceAgentLinkEvent): void {
    const before = this.link;
    const { link, outputs } = stepDeviceAgentLink(before, event, {
      sha256,
      verify,
      hasForm,
      now: () => this.now,
      random: () => 0.5,
    });
    this.link = link;
    if (link.used !== undefined && link.used !== before.used) this.isUsed(before, link.used);
    for (const output of outputs) {
      this.outputs.push(output);
      if (output.do === "send") {
        expect(this.awaiting).toBe(true);
        this.awaiting = false;
      }
    }
  }

  /** What has to be so of everything that is ever used. */
  isUsed(before: DeviceAgentLink, { configuration, name }: VerifiedDeviceConfiguration): void {
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
    this.tell({ type: "configuration", configuration });
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
      if (this.link.used?.configuration.content.ipv4 === contentOf(this.wanted).ipv4) return;
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
  fc.constant<Happening>((world) => world.tell({ type: "goodbye", message: { type: "goodbye", reason: "replaced" } })),
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
      expect(world.link.used?.configuration.content).toEqual(contentOf(world.wanted));
      used += world.used;
    }),
    { numRuns: 3_000 },
  );
  expect(used).toBeGreaterThan(3_000);
}, 60_000);

const at = 1_000_000;
const good = signed(contentOf(1), { generation: 5, issuedAt: at });
const name = (configuration: SignedDeviceConfiguration) => configurationName(configuration.header, sha256);

function opened(kept: Parameters<typeof newDeviceAgentLink>[1] = {}): DeviceAgentLink {
  return { ...newDeviceAgentLink(device, { tenant, signingKey: tenantKey, ...kept }), phase: "open" };
}

function step(link: DeviceAgentLink, event: DeviceAgentLinkEvent, now = at) {
  return stepDeviceAgentLink(link, event, { sha256, verify, hasForm, now: () => now, random: () => 0.5 });
}

const used = { used: { configuration: good, name: name(good) } };
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
  const { link, outputs } = step(opened(used), { type: "configuration", configuration });
  expect(outputs).toMatchObject([
    { do: "send", message: { type: "failed", reason, configuration: name(configuration) } },
  ]);
  expect(link.used?.configuration).toBe(good);
  expect(link.applying).toBeUndefined();
});

test("the very one that is used is applied again; after it expired only a later one or itself is taken", () => {
  const again = step(opened(used), { type: "configuration", configuration: good });
  expect(again.outputs).toEqual([{ do: "send", message: { type: "applied", configuration: name(good) } }]);
  const { link: left, outputs } = step(opened(used), { type: "expired" });
  expect(left).toMatchObject({ phase: "away", used: undefined });
  expect(outputs).toMatchObject([{ do: "close" }, { do: "wait" }]);
  const link: DeviceAgentLink = { ...left, phase: "open" };
  const older = signed(contentOf(2), { generation: 4, issuedAt: at });
  expect(step(link, { type: "configuration", configuration: older }).outputs).toMatchObject([
    { message: { reason: "replayed" } },
  ]);
  const later = signed(contentOf(2), { generation: 5, issuedAt: at + 1 });
  expect(step(link, { type: "configuration", configuration: later }).outputs).toMatchObject([{ do: "apply" }]);
});

test("pins whom it meets first, and takes nobody else afterwards", () => {
  const greeting: DeviceAgentLink = { ...newDeviceAgentLink(device), phase: "greeting" };
  const met = step(greeting, { type: "welcome", message: welcome });
  expect(met.outputs).toEqual([{ do: "pin", tenant, signingKey: tenantKey }]);
  const later: DeviceAgentLink = { ...met.link, phase: "greeting" };
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
  const events: readonly DeviceAgentLinkEvent[] = [
    { type: "connected" },
    { type: "cut" },
    { type: "retry" },
    { type: "welcome", message: welcome },
    { type: "configuration", configuration: signed(contentOf(2), { generation: 6, issuedAt: at }) },
    { type: "goodbye", message: { type: "goodbye", reason: "overloaded", retryAfterMs: 5_000 } },
    { type: "failed", message: "refused" },
    { type: "overdue" },
  ];
  for (const phase of deviceAgentLinkPhases) {
    for (const event of events) {
      const { link } = step({ ...opened(used), phase }, event);
      expect(link.used?.configuration, `${phase} ${event.type}`).toBe(good);
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
