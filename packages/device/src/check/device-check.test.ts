/** Each step as the first broken one, with its remedy. Packets are sent in test/enforcement. */

import { StoppedClock } from "@gatehouse/agent-core/testing/stopped-clock";
import type { DeviceAnswer } from "@gatehouse/agent-protocol/device/frames";
import { expect, test } from "vitest";
import type { GatewayState } from "../device-agent.ts";
import { exampleDeviceConfiguration, exampleGateways, exampleOutage } from "../testing/example-device-configuration.ts";
import type { AccessCheck, CheckStep } from "./check-result.ts";
import type { ConnectResult } from "./connect-target.ts";
import { DeviceCheck, type DeviceCheckParts } from "./device-check.ts";

const configuration = exampleDeviceConfiguration();
const clock = new StoppedClock();
const name = "git.internal.example.com";
const git = {
  id: exampleGateways.one,
  name: "Git",
  addresses: [
    { address: "10.80.0.7", tcp: ["22-22"] },
    { address: name, tcp: ["443-443"] },
  ],
};
const reachable: DeviceAnswer = { type: "answer", number: 1, outcome: "reachable", resource: git, reasons: [] };
const states = (lastHandshake: number | undefined): readonly GatewayState[] => [
  { gateway: exampleGateways.one, address: "100.64.255.1", path: "192.0.2.1:51820", isRelay: false, lastHandshake },
];
const connected = (outcome: ConnectResult["outcome"]) => async () => ({ outcome, durationMs: 4 });

const good: DeviceCheckParts = {
  user: "ann@example.com",
  interfaceName: "gatehouse-dev0",
  configuration: () => configuration,
  gatewayStates: async () => states(clock.now() - 12_000),
  rejection: () => undefined,
  ask: async () => reachable,
  dns: { resolve: async () => ({ rcode: "NOERROR", addresses: ["10.90.0.7"] }) },
  dnsAddress: "127.0.0.153",
  lookUp: async () => ["10.90.0.7"],
  routeTo: async () => "gatehouse-dev0",
  roundTrip: async () => 3.5,
  connect: connected("connected"),
  namesOf: () => [],
  clock,
};

const check = (changes: Partial<DeviceCheckParts> = {}, to = "Git", port?: number): Promise<AccessCheck> =>
  new DeviceCheck({ ...good, ...changes }, to, port).run();
const stepStates = ({ steps }: AccessCheck) => steps.map(({ step, state }) => `${step} ${state}`);
const blocked = (kind: string, text: string): DeviceAnswer => ({
  ...reachable,
  outcome: "blocked",
  reasons: [{ kind, text }],
});

test("a resource that can be reached has no broken step", async () => {
  const asked: unknown[] = [];
  const done = await check({
    connect: async (...target) => {
      asked.push(target);
      return { outcome: "connected", durationMs: 4 };
    },
  });
  expect(done).toMatchObject({ to: "Git", resource: "Git" });
  expect(done.broken).toBeUndefined();
  expect(stepStates(done)).toEqual([
    "sign-in ok",
    "decision ok",
    "route ok",
    "handshake ok",
    "gateway ok",
    "dns skipped",
    "target ok",
  ]);
  expect(asked).toEqual([["10.80.0.7", 22]]);
  expect(done.steps[3]?.text).toBe("Last handshake 12 s ago, over 192.0.2.1:51820 (direct).");
  expect(done.steps[4]?.text).toBe("The gateway answers in 3.5 ms.");
});

test("a name is resolved, and its address is connected to", async () => {
  const asked: unknown[] = [];
  const done = await check(
    {
      connect: async (...target) => {
        asked.push(target);
        return { outcome: "connected", durationMs: 4 };
      },
    },
    name,
  );
  expect(done.broken).toBeUndefined();
  expect(stepStates(done).slice(5)).toEqual(["dns ok", "target ok"]);
  expect(asked).toEqual([["10.90.0.7", 443]]);
});

test("a resource that is unreachable at one of its addresses has the reason in the decision", async () => {
  const reasons = [{ kind: "other_gateway", text: "Packets to 10.80.0.9 go elsewhere." }];
  const done = await check({ ask: async () => ({ ...reachable, reasons }) });
  expect(done.steps[1]?.text).toBe("Access to Git is allowed. Packets to 10.80.0.9 go elsewhere.");
});

const ended = { ...configuration, gateways: [], sessionEndsAt: clock.now() - 1_000 };
const cases: readonly (readonly [
  what: string,
  step: CheckStep,
  changes: Partial<DeviceCheckParts>,
  text: RegExp,
  to?: string,
  port?: number,
])[] = [
  [
    "the token was replaced",
    "sign-in",
    { rejection: () => "Enrol the device again." },
    /admit.*Enrol the device again/,
  ],
  ["the session has ended", "sign-in", { configuration: () => ended }, /session of this device ended at .*sign-in/],
  [
    "the control plane says so",
    "sign-in",
    { ask: async () => blocked("session_ended", "") },
    /session.*ended.*sign-in/,
  ],
  [
    "a policy denies",
    "decision",
    { ask: async () => blocked("denied", "Your organisation blocks it.") },
    /not allowed\..*blocks it/,
  ],
  ["the name is unknown offline", "decision", { ask: async () => undefined }, /not contain "Wiki".*status/, "Wiki"],
  [
    "no gateway is in service",
    "gateway",
    { ask: async () => ({ ...reachable, outcome: "unavailable" }) },
    /No gateway/,
  ],
  [
    "no gateway is in service for an unserved address",
    "gateway",
    { ask: async () => ({ ...reachable, outcome: "unavailable" }), configuration: exampleOutage },
    /No gateway can carry the traffic now\. This device blocks 10\.80\.0\.7, because/,
  ],
  [
    "an unserved address offline",
    "gateway",
    { ask: async () => undefined, configuration: exampleOutage },
    /^This device blocks 10\.80\.0\.9, because no gateway in service carries it/,
    "10.80.0.9",
  ],
  [
    "an unserved name offline",
    "gateway",
    { ask: async () => undefined, configuration: exampleOutage },
    /^This device blocks git\.internal\.example\.com, because/,
    name,
  ],
  [
    "an address that an unserved name had",
    "gateway",
    { ask: async () => undefined, configuration: exampleOutage, namesOf: () => [name] },
    /^This device blocks 10\.90\.0\.7, because no gateway in service carries it/,
    "10.90.0.7",
  ],
  ["the device has no configuration", "route", { configuration: () => undefined }, /no valid configuration/],
  ["the configuration lacks it", "route", {}, /sends nothing to 10\.99\.0\.1/, "10.99.0.1"],
  ["another program took the route", "route", { routeTo: async () => "wlan0" }, /through wlan0 instead.*restart/],
  ["the machine is offline", "route", { routeTo: async () => undefined }, /no route to 10\.80\.0\.7/],
  [
    "only wildcards are known",
    "route",
    { ask: async () => ({ ...reachable, resource: { ...git, addresses: [{ address: "*.example.com", tcp: [] }] } }) },
    /wildcards only.*Name one/,
  ],
  [
    "there never was a handshake",
    "handshake",
    { roundTrip: async () => undefined, gatewayStates: async () => states(undefined) },
    /at 192\.0\.2\.1:51820 \(direct\) does not answer handshakes\..*UDP/,
  ],
  [
    "the last handshake is old",
    "handshake",
    { roundTrip: async () => undefined, gatewayStates: async () => states(clock.now() - 200_000) },
    /handshakes since /,
  ],
  ["the gateway is silent", "gateway", { roundTrip: async () => undefined }, /does not answer through the tunnel/],
  ["the agent has no DNS", "dns", { dns: undefined }, /without DNS.*--dns off/, name],
  [
    "the name does not exist",
    "dns",
    { dns: { resolve: async () => ({ rcode: "NXDOMAIN", addresses: [] }) } },
    /answers NXDOMAIN.*spelling/,
    name,
  ],
  [
    "programs ask elsewhere",
    "dns",
    { lookUp: async () => ["203.0.113.7"] },
    /they get 203\.0\.113\.7.*nameserver 127\.0\.0\.153/,
    name,
  ],
  [
    "programs get nothing",
    "dns",
    { lookUp: async () => Promise.reject(new Error("ENOTFOUND")) },
    /get no answer/,
    name,
  ],
  ["the target refuses", "target", { connect: connected("refused") }, /refuses connections on TCP port 22.*service/],
  ["the target is silent", "target", { connect: connected("silent") }, /does not answer on TCP port 22 within 3 s/],
  ["the target is gone", "target", { connect: connected("unreachable") }, /cannot reach 10\.80\.0\.7/],
  ["the port is not offered", "target", {}, /does not offer TCP port 80/, "10.80.0.7", 80],
];

test.each(cases.map(([what, step, changes, text, to, port]) => ({ what, step, changes, text, to, port })))(
  "if $what, the step $step is broken",
  async ({ step, changes, text, to, port }) => {
    const done = await check(changes, to, port);
    expect(done.broken).toBe(step);
    const found = done.steps.find((each) => each.step === step);
    expect(`${found?.text} ${found?.remedy}`).toMatch(text);
    // Nothing after the broken step was done, apart from the decision about a gateway.
    const later = done.steps.slice(done.steps.findIndex((each) => each.step === step) + 1);
    expect(later.every(({ state }) => state === "skipped")).toBe(true);
  },
);

test.each([
  ["the resource offers all ports", { ...git, addresses: [{ address: "10.80.0.7", tcp: ["1-65535"] }] }, /--port/],
  ["the resource has no TCP port", { ...git, addresses: [{ address: "10.80.0.7", tcp: [] }] }, /no TCP port/],
  ["the resource is a network", { ...git, addresses: [{ address: "10.80.0.0/24", tcp: ["22-22"] }] }, /is a network/],
])("nothing is connected to if %s", async (_, resource, text) => {
  const connect = () => Promise.reject(new Error("not to be called"));
  const done = await check({ ask: async () => ({ ...reachable, resource }), connect });
  expect(done.broken).toBeUndefined();
  expect(done.steps.at(-1)).toMatchObject({ state: "unknown", text: expect.stringMatching(text) });
});

test("without the control plane, an address is checked with the stored configuration", async () => {
  for (const ask of [
    async () => undefined,
    async () => ({ ...blocked("failed", "Too many questions."), outcome: "failed" as const }),
  ]) {
    const done = await check({ ask }, "10.80.0.7", 8080);
    expect(done.broken).toBeUndefined();
    expect(stepStates(done).slice(0, 3)).toEqual(["sign-in ok", "decision unknown", "route ok"]);
    expect(done.steps.at(-1)?.text).toContain("TCP port 8080");
  }
});

test("the first packet may wait for a handshake", async () => {
  let attempts = 0;
  const roundTrip = async () => {
    attempts += 1;
    return attempts === 3 ? 40 : undefined;
  };
  expect((await check({ roundTrip })).broken).toBeUndefined();
  attempts = -10;
  expect((await check({ roundTrip })).broken).toBe("gateway");
  expect(attempts).toBe(-7);
});
