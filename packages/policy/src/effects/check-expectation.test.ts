import { describe, expect, test } from "vitest";
import { compile } from "../model/model.ts";
import { goldenCase } from "../testing/golden-case.ts";
import { type AccessExpectation, checkExpectation, maxBroken } from "./check-expectation.ts";

const golden = goldenCase(
  "a company",
  `
why: Contractors are kept out before anybody is let in, and engineers need a managed device.
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

test("contractors can never reach Payroll, wherever they are", () => {
  expect(check({ subject: group("contractors"), destination: resource("payroll") })).toEqual({
    holds: true,
    asked: 1,
    broken: [],
    brokenCount: 0,
  });
});

test("engineers can, from the office: who does it, and by which policy", () => {
  const checked = check({ subject: group("engineers"), device: "none", destination: resource("payroll") });
  expect(checked).toMatchObject({ holds: false, asked: 3, brokenCount: 1 });
  const [{ userId: id, level, decidedBy } = {}] = checked.broken;
  expect({ id, level, policy: decidedBy?.name }).toEqual({
    id: userId("anna"),
    level: "sometimes",
    policy: "Payroll at the office",
  });
});

test("what is expected to be allowed is allowed only where it always is", () => {
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

test("a device that is made up has the posture that it is given, and is of each user in turn", () => {
  const engineers = { subject: group("engineers"), expected: "allowed" as const };
  expect(check({ ...engineers, device: { posture: { managed: true } } })).toMatchObject({ holds: true, asked: 2 });
  expect(check({ ...engineers, device: { posture: { managed: false } } })).toMatchObject({
    holds: false,
    brokenCount: 2,
  });
  expect(check({ ...engineers, device: { posture: {} } })).toMatchObject({ holds: false, brokenCount: 2 });
});

test("any device: each active one where access is expected, and nothing where there is none", () => {
  const checked = check({ subject: group("engineers"), expected: "allowed" });
  // Two of Anna's, and Ben without any; the inactive user is not expected to reach anything.
  expect(checked.asked).toBe(3);
  expect(checked.broken.map(({ userId: id, deviceId }) => [id, deviceId])).toEqual([
    [userId("anna"), idOf(facts.devices, "annas phone")],
    [userId("ben"), undefined],
  ]);
});

test("any device: also nothing where no access is expected", () => {
  const checked = check({ subject: group("engineers") });
  expect(checked).toMatchObject({ asked: 5, brokenCount: 1 });
  expect(checked.broken).toMatchObject([{ deviceId: idOf(facts.devices, "annas laptop"), level: "always" }]);
});

test("a device is asked with its user", () => {
  const device = (name: string) => ({ kind: "device" as const, id: idOf(facts.devices, name) });
  expect(check({ subject: device("annas laptop"), expected: "allowed" })).toMatchObject({ holds: true, asked: 1 });
  expect(check({ subject: device("annas phone"), expected: "allowed" })).toMatchObject({ holds: false, asked: 1 });
  expect(check({ subject: device("annas old one"), expected: "allowed" })).toMatchObject({ holds: true, asked: 0 });
});

describe("what is offered", () => {
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
  ["text that is no address", { destination: { kind: "address", address: "two words" } }, "destination"],
] as const)("an expectation about a missing %s says so", (_, expectation, missing) => {
  expect(check(expectation)).toEqual({ holds: false, asked: 0, broken: [], brokenCount: 0, missing });
});

test("of many broken ones the first are told, and all counted", () => {
  const [anna] = facts.users;
  const users = Array.from({ length: 30 }, (_, index) => ({ ...anna, id: `user ${index}` })) as (typeof facts)["users"]; // there is one
  const crowd = compile({ ...facts, users, devices: [] });
  const everyone: AccessExpectation = {
    subject: { kind: "everyone" },
    device: "none",
    destination: resource("payroll"),
    circumstances: office,
    expected: "denied",
  };
  const checked = checkExpectation(crowd, everyone);
  expect(checked.broken).toHaveLength(maxBroken);
  expect(checked.brokenCount).toBe(30);
});
