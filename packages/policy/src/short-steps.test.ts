/** Work on all records of a large tenant yields after at most a few hundred of them. */
import { contentRoot } from "@gatehouse/agent-protocol/gateway/content-tree";
import { expect, test, vi } from "vitest";
import { possibleSubjects } from "./decisions/search.ts";
import { type AccessExpectation, checkingExpectation } from "./effects/check-expectation.ts";
import { comparingAccess } from "./effects/compare-access.ts";
import { noSources } from "./enforcement/device-sources.ts";
import type { LinkFacts } from "./enforcement/links.ts";
import { TenantEnforcement } from "./enforcement/tenant-enforcement.ts";
import { hashing } from "./enforcement/tree-work.ts";
import { closedAddresses } from "./findings/closed-addresses.ts";
import { divertedAddresses } from "./findings/diverted-addresses.ts";
import { idlePolicies } from "./findings/idle-policies.ts";
import { PossibleSources } from "./findings/possible-sources.ts";
import { unreachableResources } from "./findings/unreachable-resources.ts";
import type { DeviceFacts, ResourceFacts, TenantFacts, UserFacts } from "./model/facts.ts";
import { compile, type Model, update } from "./model/model.ts";
import { type Records, Table } from "./model/table.ts";
import { sorting } from "./sorting.ts";
import { plainPolicy } from "./testing/plain-policy.ts";
import { finish } from "./work.ts";

const count = 4_000;
/** The most records that a work may read between two yields. */
const mostReads = 600;

const many = Array.from({ length: count }, (_, index) => index);

function user(index: number): UserFacts {
  const named = { email: `u${index}@example.com`, firstName: "", lastName: "" };
  return { id: `u${index}`, ...named, status: "inactive", attributes: {}, groups: ["g"] };
}

function device(index: number): DeviceFacts {
  const own = { id: `d${index}`, userId: `u${index}`, active: true, name: `Device ${index}`, tags: [] };
  return { ...own, os: "", osVersion: "", appVersion: "", agent: true, hardwareId: "", posture: {} };
}

function resource(index: number): ResourceFacts {
  const addresses = [{ address: `host-${index}.example.com`, protocols: [{ protocol: "TCP", port: "443" } as const] }];
  const named = { id: `r${index}`, name: `Resource ${index}`, type: "PRIVATE" } as const;
  return { ...named, loadBalancingMode: "MANUAL", addresses, gateways: ["gw"] };
}

const policy = plainPolicy({ id: "p", groups: ["g"], allResources: true, rule: "allow" });

const facts: TenantFacts = {
  users: many.map(user),
  groups: [{ id: "g", name: "Group" }],
  devices: many.map(device),
  gateways: [{ id: "gw", name: "Gateway", status: "ONLINE", load: null, roundTripTimeMs: null }],
  resources: many.map(resource),
  rules: [{ id: "allow", name: "Allow", type: "ALLOW", text: null }],
  policies: [policy],
};

/** The records of a table, which count each read. */
class CountedRecords<Value> implements Records<Value> {
  static reads = 0;
  readonly size: number;
  readonly #entries: ReadonlyMap<string, Value>;

  constructor(entries: ReadonlyMap<string, Value>) {
    this.#entries = entries;
    this.size = entries.size;
  }

  get(key: string): Value | undefined {
    CountedRecords.reads += 1;
    return this.#entries.get(key);
  }

  *[Symbol.iterator](): Iterator<readonly [key: string, value: Value]> {
    for (const entry of this.#entries) {
      CountedRecords.reads += 1;
      yield entry;
    }
  }
}

function counted<Value>(table: Table<Value>): Table<Value> {
  return Table.ofRecords(new CountedRecords(new Map(table.base)));
}

function countedModel(): Model {
  const model = compile(facts);
  return {
    ...model,
    users: counted(model.users),
    devices: counted(model.devices),
    resources: counted(model.resources),
  };
}

const destination = { kind: "resource", resourceId: "r0" } as const;

function expectation(subject: AccessExpectation["subject"], expected: "allowed" | "denied"): AccessExpectation {
  return { subject, device: "any", destination, circumstances: { now: 0 }, expected };
}

test.each<[string, (model: Model) => Iterator<unknown>]>([
  ["a search for users", (model) => search(model, "user")],
  ["a search for devices", (model) => search(model, "device")],
  ["the policies that never match", (model) => idlePolicies(model, new PossibleSources(model), 0)],
  ["the resources that nobody reaches", (model) => unreachableResources(model, new PossibleSources(model), new Set())],
  ["the addresses in blocked ranges", closedAddresses],
  ["the addresses without a common gateway", divertedAddresses],
  ["a test of everyone", (model) => checkingExpectation(model, expectation({ kind: "everyone" }, "denied"))],
  ["a test of a group", (model) => checkingExpectation(model, expectation({ kind: "group", id: "g" }, "denied"))],
  ["a test that expects access", (model) => checkingExpectation(model, expectation({ kind: "everyone" }, "allowed"))],
  [
    "a comparison of two models",
    (model) => {
      const change = { kind: "policy", facts: { ...policy, action: false } } as const;
      return comparingAccess(model, update(model, [change]), [change], { now: 0 });
    },
  ],
])("%s reads few records between two yields", (_, start) => {
  const work = start(countedModel());
  CountedRecords.reads = 0;
  let sum = 0;
  for (let step = work.next(); step.done !== true; step = work.next()) {
    expect(CountedRecords.reads).toBeLessThanOrEqual(mostReads);
    sum += CountedRecords.reads;
    CountedRecords.reads = 0;
  }
  expect(sum).toBeGreaterThanOrEqual(count);
});

/** A tenant whose devices are members of a class with a rule, and a second gateway. */
const conditional = compile({
  ...facts,
  users: facts.users.map((one) => ({ ...one, status: "active" as const })),
  rules: [{ id: "named", name: "Named", type: "CUSTOM", text: "device.name != 'x' && user.email != 'y'" }],
  policies: [plainPolicy({ id: "p", groups: ["g"], allResources: true, rule: "named" })],
});

const address = (index: number) => `100.64.${index >> 8}.${index & 255}`;
const links: LinkFacts = {
  pools: ["100.64.0.0/10"],
  devices: many.map((index) => ({
    deviceId: `d${index}`,
    ipv4: address(index),
    ipv6: `fd00::${index}`,
    publicKey: `key ${index}`,
    sources: noSources,
    country: null,
  })),
  gateways: [
    {
      gatewayId: "gw",
      ipv4: "100.127.255.254",
      ipv6: "fd00::1:1",
      publicKey: null,
      listenPort: 51820,
      endpoint: null,
      relayEnabled: false,
      relayPort: null,
      drain: null,
      dns: { resolvers: [], domains: [] },
      networks: null,
    },
  ],
};
const validity = { from: 0, until: 3_600_000 };

/** The most evaluations, hashes and changed entries of a work between two yields, and the number of all of them. */
function largestStep(work: Iterator<unknown>, calls: () => number): { readonly largest: number; readonly sum: number } {
  const start = calls();
  let largest = 0;
  for (let before = start, step = work.next(); ; step = work.next()) {
    largest = Math.max(largest, calls() - before);
    before = calls();
    if (step.done === true) return { largest, sum: before - start };
  }
}

test("the content of gateways is computed in short steps", () => {
  const rule = conditional.rules.get("named") ?? expect.fail("there is no rule");
  const evaluate = vi.spyOn(rule, "evaluate");
  const set = vi.spyOn(Map.prototype, "set");
  try {
    const evaluations = () => evaluate.mock.calls.length;
    const composed = largestStep(TenantEnforcement.composing(conditional, links, validity), evaluations);
    expect(composed.sum).toBeGreaterThanOrEqual(count);
    expect(composed.largest).toBeLessThanOrEqual(mostReads);
    const entries = () => set.mock.calls.length;
    const again = largestStep(TenantEnforcement.composing(conditional, links, validity), entries);
    expect(again.largest).toBeLessThanOrEqual(2 * mostReads);
    const enforcement = finish(TenantEnforcement.composing(conditional, links, validity));
    const group = { id: "g", name: "Renamed" };
    const changed = update(conditional, [{ kind: "group", facts: group }]);
    const updated = largestStep(enforcement.updating(changed, [{ kind: "group", facts: group }], 1), entries);
    expect(updated.sum).toBeGreaterThanOrEqual(count);
    expect(updated.largest).toBeLessThanOrEqual(2 * mostReads);
  } finally {
    vi.restoreAllMocks();
  }
});

test("the content of a gateway is hashed in short steps, and then has its hash", () => {
  const content = finish(TenantEnforcement.composing(conditional, links, validity)).contentOf("gw");
  if (content === undefined) throw new Error("The gateway has no content.");
  let hashes = 0;
  const sha256 = (text: string) => {
    hashes += 1;
    return text.slice(0, 8);
  };
  const { largest, sum } = largestStep(hashing(content, sha256), () => hashes);
  expect(sum).toBeGreaterThanOrEqual(2 * count);
  expect(largest).toBeLessThanOrEqual(mostReads);
  contentRoot(content, sha256);
  // The settings and the whole are hashed each time.
  expect(hashes).toBe(sum + 2);
});

function* search(model: Model, kind: "user" | "device") {
  return yield* sorting(yield* possibleSubjects(model, kind, destination));
}
