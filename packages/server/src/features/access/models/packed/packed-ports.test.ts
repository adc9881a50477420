/** Resources with the most ports that a resource can have. */
import { parseIpAddress } from "@gatehouse/addresses/ip-address";
import { haveSameResources } from "@gatehouse/policy/effects/same-facts";
import { CompiledResource } from "@gatehouse/policy/model/compiled-resource";
import type { FactChange, ResourceFacts } from "@gatehouse/policy/model/facts";
import type { OfferedProtocols, ProtocolList } from "@gatehouse/policy/model/protocol-lists";
import { finish, type Work } from "@gatehouse/policy/work";
import { describe, expect, test } from "vitest";
import { CachedModel } from "../cached-model.ts";
import { deviceFormat, resourceFormat, userFormat } from "./packed-facts.ts";
import { PackedPages, PackedRecords } from "./packed-records.ts";

const portsOfList = 100;
const lists: readonly ProtocolList[] = Array.from({ length: 100 }, (_, index) =>
  Array.from({ length: portsOfList }, (_one, port) => ({
    protocol: "TCP" as const,
    port: String(10_000 + index * portsOfList + port),
  })),
);
const single: readonly ProtocolList[] = lists.flat().map((port) => [port]);

const idOf = (index: number) => `018f0000-0000-7000-8000-${String(index).padStart(12, "0")}`;

function resourceOf(index: number, addresses: ResourceFacts["addresses"]): CompiledResource {
  const named = { id: idOf(index), name: `Resource ${index}`, type: "PRIVATE" } as const;
  return new CompiledResource({ ...named, loadBalancingMode: "MANUAL", addresses, gateways: [] });
}

/** Resources with one common address. Each has its own order of the protocols, so that no two of them are equal. */
function withManyPorts(count: number, protocolsOf: (index: number) => OfferedProtocols): readonly CompiledResource[] {
  return Array.from({ length: count }, (_, index) =>
    resourceOf(index, [{ address: "10.0.0.1", protocols: protocolsOf(index), answersWithin: null }]),
  );
}

/** Resources with 100 addresses of 100 protocols with one port each. */
function withManyAddresses(count: number): readonly CompiledResource[] {
  return Array.from({ length: count }, (_, index) => {
    const addresses = Array.from({ length: 100 }, (_one, number) => ({
      address: `10.${index}.0.${number}`,
      protocols: single.slice(number * 100, number * 100 + 100),
      answersWithin: null,
    }));
    return resourceOf(index, addresses);
  });
}

const rotated = (index: number) => [...lists.slice(index % lists.length), ...lists.slice(0, index % lists.length)];

const processorMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

/** The processor time of the longest step, in milliseconds. */
function longestStep<Result>(work: Work<Result>): { readonly longest: number; readonly result: Result } {
  let longest = 0;
  for (;;) {
    const started = processorMs();
    const step = work.next();
    longest = Math.max(longest, processorMs() - started);
    if (step.done === true) return { longest, result: step.value };
  }
}

/** The longest steps in each kind of work on a model. */
function stepsOf(resources: readonly CompiledResource[]): Readonly<Record<string, number>> {
  const format = resourceFormat();
  const pages = new PackedPages();
  const encoding = longestStep(pages.encoding(resources, format));
  const indexing = longestStep(PackedRecords.indexing(pages, format));
  const none = new PackedPages();
  const facts = {
    users: finish(PackedRecords.indexing(none, userFormat())),
    devices: finish(PackedRecords.indexing(none, deviceFormat())),
    resources: indexing.result,
    others: { groups: [], gateways: [], rules: [], policies: [] },
  };
  const building = longestStep(CachedModel.buildingPacked(1, facts));
  const asked = parseIpAddress("10.0.0.1") ?? expect.fail("The address is invalid.");
  const started = processorMs();
  building.result.model.addresses.ofIp(asked);
  const finding = processorMs() - started;
  const changes = resources.map((each): FactChange => ({ kind: "resource", facts: { ...each.facts, name: "Other" } }));
  const changing = longestStep(building.result.changing(2, changes));
  return {
    encoding: encoding.longest,
    indexing: indexing.longest,
    building: building.longest,
    finding,
    changing: changing.longest,
  };
}

/** Twice the processor time that a step may take on an idle machine, in milliseconds. */
const mostMs = 20;

/** Other processes and the collection of garbage can slow down a step, so the best of some runs counts. */
function expectShortSteps(resourcesOf: () => readonly CompiledResource[]): void {
  const runs = Array.from({ length: 3 }, () => stepsOf(resourcesOf()));
  const best = Object.keys(runs[0] ?? {}).map(
    (kind) => [kind, Math.min(...runs.map((run) => run[kind] ?? 0))] as const,
  );
  expect(best.filter(([, ms]) => ms > mostMs)).toEqual([]);
}

describe("every step of work on large resources is short", () => {
  test("if thousands of resources have 100 protocols with 100 ports", () => {
    expectShortSteps(() => withManyPorts(1_000, rotated));
  });

  test("if few resources have all of these ports at one address, as in versions of earlier releases", () => {
    expectShortSteps(() => withManyPorts(100, (index) => rotated(index).flat()));
  });

  test("if resources have 100 addresses with 100 protocols", () => {
    expectShortSteps(() => withManyAddresses(50));
  });
});

test("resources with the same protocols need little memory, and have their facts", () => {
  const resources = withManyPorts(1_000, rotated);
  const pages = new PackedPages();
  finish(pages.encoding(resources, resourceFormat()));
  const records = finish(PackedRecords.indexing(pages, resourceFormat()));
  // Without numbers of lists, a row has 100 kB.
  expect(records.bytes).toBeLessThan(1_000 * 500);
  for (const index of [0, 1, 999]) {
    const packed = records.get(idOf(index))?.facts ?? expect.fail("The resource is missing.");
    expect(packed).toEqual(resources[index]?.facts);
    expect(haveSameResources(packed, resources[index]?.facts)).toBe(true);
    expect(haveSameResources(packed, { ...packed, addresses: [] })).toBe(false);
  }
});

test("a page forgets the lists of former ports", () => {
  const format = resourceFormat();
  const pages = new PackedPages();
  finish(pages.encoding(withManyPorts(10, rotated), format));
  let records = finish(PackedRecords.indexing(pages, format));
  for (let port = 1; port <= 500; port += 1) {
    const changed = resourceOf(3, [
      { address: "10.0.0.1", protocols: [[{ protocol: "UDP", port: String(port) }]], answersWithin: null },
    ]);
    records = finish(records.changing(new Map([[changed.id, changed]])));
    expect(records.get(changed.id)?.facts).toEqual(changed.facts);
    expect(Math.max(...records.pages.map((page) => page.lists.size))).toBeLessThanOrEqual(300);
  }
  expect(records.get(idOf(9))?.facts).toEqual(withManyPorts(10, rotated)[9]?.facts);
});
