import { describe, expect, test } from "vitest";
import { compile } from "../model/model.ts";
import { goldenCase } from "../testing/golden-case.ts";
import { type AccessExpectation, checkExpectation, maxBroken } from "./check-expectation.ts";

const golden = goldenCase(
  "a company",
  `
why: Contractors are denied before anybody is allowed, and engineers need a managed device.
tenant:
  users:
    anna: {groups: [engineers]}
    ben: {groups: [engineers, contractors]}
    ines: {status: inactive, groups: [engineers]}
  devices:
    annas laptop: {user: anna, posture: {managed: true}}
    annas phone: {user: anna, posture: {managed: false}}
    annas old one: {user: anna, active: false}
  resources:
    git: {addresses: {git.example.com: [TCP/22, TCP/443]}}
    payroll: {addresses: {payroll.example.com: [TCP/443]}}
  policies:
    - {name: Contractors never, action: deny, groups: [contractors], resources: [payroll]}
    - {name: Managed engineers, groups: [engineers], resources: [git], when: device.posture.managed}
    - {name: Payroll at the office, all: [users], resources: [payroll], sourceIps: [192.0.2.0/24]}
request: {user: anna, resource: git}
expect: {allowed: false, reasons: []}
`,
);
const { facts } = golden;
const model = compile(facts);
const idOf = (records: readonly { readonly id: string; readonly name: string }[], name: string) =>
  records.find((record) => record.name === name)?.id ?? name;
const userId = (name: string) => facts.users.find(({ email }) => email.startsWith(name))?.id ?? name;
const group = (name: string) => ({ kind: "group" as const, id: idOf(facts.groups, name) });
const resource = (name: string) => ({ kind: "resource" as const, resourceId: idOf(facts.resources, name) });
const office = { sourceIp: "192.0.2.7" };

function check(expectation: Partial<AccessExpectation>) {
  const usual: AccessExpectation = {
    subject: { kind: "everyone" },
    device: "any",
    destination: resource("git"),
    circumstances: {},
    expected: "denied",
  };
  return checkExpectation(model, { ...usual, ...expectation });
}

test("contractors can never reach Payroll from any address", () => {
  expect(check({ subject: group("contractors"), destination: resource("payroll") })).toEqual({
    holds: true,
    asked: 1,
    broken: [],
    brokenCount: 0,
  });
});

test("a broken expectation names the subjects and the policy", () => {
  const checked = check({ subject: group("engineers"), device: "none", destination: resource("payroll") });
  expect(checked).toMatchObject({ holds: false, asked: 3, brokenCount: 1 });
  const [{ userId: id, level, decidedBy } = {}] = checked.broken;
  expect({ id, level, policy: decidedBy?.name }).toEqual({
    id: userId("anna"),
    level: "sometimes",
    policy: "Payroll at the office",
  });
});

test("expected access must always be allowed", () => {
  const anna = { kind: "user" as const, id: userId("anna") };
  const expectation = {
    subject: anna,
    device: "none" as const,
    destination: resource("payroll"),
    expected: "allowed" as const,
  };
  expect(check(expectation).holds).toBe(false);
  expect(check({ ...expectation, circumstances: office }).holds).toBe(true);
});

test("a hypothetical device has the given posture and belongs to each user in turn", () => {
  const engineers = { subject: group("engineers"), expected: "allowed" as const };
  expect(check({ ...engineers, device: { posture: { managed: true } } })).toMatchObject({ holds: true, asked: 2 });
  expect(check({ ...engineers, device: { posture: { managed: false } } })).toMatchObject({
    holds: false,
    brokenCount: 2,
  });
  expect(check({ ...engineers, device: { posture: {} } })).toMatchObject({ holds: false, brokenCount: 2 });
});

describe("a hypothetical device with some known posture", () => {
  const engineers = group("engineers");
  test.each([
    // The rule reads only "managed".
    [{ managed: false, other: true }, "denied", true],
    [{ managed: true, other: true }, "allowed", true],
    // It may have any value or none, so that neither expectation holds.
    [{ other: true }, "denied", false],
    [{ other: true }, "allowed", false],
  ] as const)("%o: %s", (posture, expected, holds) => {
    const checked = check({ subject: engineers, device: { posture }, expected });
    expect(checked.holds).toBe(holds);
    if (!holds) expect(checked.broken[0]?.level).toBe("sometimes");
  });

  test("a rule that lists the posture depends on the open part of it", () => {
    const listing = compile({
      ...facts,
      rules: facts.rules.map((rule) => ({ ...rule, text: "device.posture.exists(name, name == 'managed')" })),
    });
    const expectation = { subject: engineers, destination: resource("git"), circumstances: {}, expected: "denied" };
    const device = { posture: { other: true } };
    expect(checkExpectation(listing, { ...expectation, device } as AccessExpectation).holds).toBe(false);
  });
});

describe("the other fields and the session of a hypothetical device are open", () => {
  const changed = (text: string) =>
    compile({
      ...facts,
      rules: facts.rules.map((rule) => ({ ...rule, text })),
      devices: facts.devices.map((device) => ({ ...device, os: "Windows", session: null })),
    });
  const tested = (text: string, subject: AccessExpectation["subject"], expected: "allowed" | "denied") => {
    const device = { posture: { diskEncrypted: false } };
    const asked = { subject, device, destination: resource("git"), circumstances: {}, expected };
    const { holds, broken } = checkExpectation(changed(text), asked);
    return holds ? "holds" : broken[0]?.level;
  };
  const engineers = group("engineers");
  const laptop = { kind: "device" as const, id: idOf(facts.devices, "annas laptop") };

  test.each([
    ["session.age < duration('8h') && device.posture.diskEncrypted == true", "holds", "never"],
    ["session.age < duration('8h') && device.posture.osUpToDate == true", "sometimes", "sometimes"],
    ["'hwk' in session.methods", "sometimes", "sometimes"],
    ["[session].exists(one, one.methods == ['hwk'])", "sometimes", "sometimes"],
    ["device.os == 'macOS'", "sometimes", "sometimes"],
    ["device['os'] == ''", "sometimes", "sometimes"],
    ["'build' in device.tags", "sometimes", "sometimes"],
    ["device.os == 'macOS' && device.posture.diskEncrypted == true", "holds", "never"],
    ["device.os == 'macOS' || device.posture.diskEncrypted == false", "always", "holds"],
    // The device has the agent.
    ["device.agent", "always", "holds"],
    ["!device.agent", "holds", "never"],
  ])("%s: denied %s, allowed %s", (text, denied, allowed) => {
    expect([tested(text, engineers, "denied"), tested(text, engineers, "allowed")]).toEqual([denied, allowed]);
  });

  test.each([
    ["device.os == 'macOS'", "holds", "never"],
    ["device.os == 'Windows'", "always", "holds"],
    ["'hwk' in session.methods", "holds", "never"],
    ["device.os == 'Windows' && device.posture.osUpToDate == true", "sometimes", "sometimes"],
  ])("unless the subject is a device, which has its own: %s", (text, denied, allowed) => {
    expect([tested(text, laptop, "denied"), tested(text, laptop, "allowed")]).toEqual([denied, allowed]);
  });
});

test("any device: expected access is checked with each active device, or without a device if there is none", () => {
  const checked = check({ subject: group("engineers"), expected: "allowed" });
  // Two devices of Anna, and Ben without a device. Access is not expected for the inactive user.
  expect(checked.asked).toBe(3);
  expect(checked.broken.map(({ userId: id, deviceId }) => [id, deviceId])).toEqual([
    [userId("anna"), idOf(facts.devices, "annas phone")],
    [userId("ben"), undefined],
  ]);
});

test("any device: expected denial is also checked without a device", () => {
  const checked = check({ subject: group("engineers") });
  expect(checked).toMatchObject({ asked: 5, brokenCount: 1 });
  expect(checked.broken).toMatchObject([{ deviceId: idOf(facts.devices, "annas laptop"), level: "always" }]);
});

test("a device is checked with its user", () => {
  const device = (name: string) => ({ kind: "device" as const, id: idOf(facts.devices, name) });
  expect(check({ subject: device("annas laptop"), expected: "allowed" })).toMatchObject({ holds: true, asked: 1 });
  expect(check({ subject: device("annas phone"), expected: "allowed" })).toMatchObject({ holds: false, asked: 1 });
  expect(check({ subject: device("annas old one"), expected: "allowed" })).toMatchObject({ holds: true, asked: 0 });
});

describe("offered services", () => {
  const laptop = { kind: "device" as const, id: idOf(facts.devices, "annas laptop") };
  test.each([
    [{ ...resource("git"), protocol: "TCP", port: 22 }, true],
    [{ ...resource("git"), protocol: "TCP" }, true],
    [{ ...resource("git"), protocol: "TCP", port: 23 }, false],
    [{ ...resource("git"), protocol: "UDP" }, false],
    [{ kind: "address", address: "git.example.com", protocol: "TCP", port: 22 }, true],
    [{ kind: "address", address: "git.example.com", protocol: "TCP", port: 23 }, false],
  ] as const)("%o: %s", (destination, isAllowed) => {
    expect(check({ subject: laptop, destination, expected: "allowed" }).holds).toBe(isAllowed);
    expect(check({ subject: laptop, destination, expected: "denied" }).holds).toBe(!isAllowed);
  });
});

test.each([
  ["user", { subject: { kind: "user", id: "nobody" } }, "subject"],
  ["group", { subject: { kind: "group", id: "none" } }, "subject"],
  ["device", { subject: { kind: "device", id: "none" } }, "subject"],
  ["resource", { destination: { kind: "resource", resourceId: "none" } }, "destination"],
  ["an invalid address", { destination: { kind: "address", address: "two words" } }, "destination"],
] as const)("an expectation about a missing %s says so", (_, expectation, missing) => {
  expect(check(expectation)).toEqual({ holds: false, asked: 0, broken: [], brokenCount: 0, missing });
});

test.each([
  ["from some addresses", ["192.0.2.0/24"]],
  ["from anywhere", []],
])("all broken subjects are counted, and the first are listed, if everyone is allowed %s", (_, sourceIps) => {
  const [anna] = facts.users;
  // The tenant has one user.
  const users = Array.from({ length: 30 }, (_, index) => ({ ...anna, id: `user ${index}` })) as (typeof facts)["users"];
  const policies = facts.policies.map((policy) => (policy.sourceIps.length === 0 ? policy : { ...policy, sourceIps }));
  const crowd = compile({ ...facts, users, policies, devices: [] });
  const everyone: AccessExpectation = {
    subject: { kind: "everyone" },
    device: "none",
    destination: resource("payroll"),
    circumstances: office,
    expected: "denied",
  };
  const checked = checkExpectation(crowd, everyone);
  expect(checked.broken).toHaveLength(maxBroken);
  expect(checked).toMatchObject({ holds: false, asked: 30, brokenCount: 30 });
});
