import { parseAddressText } from "@gatehouse/addresses/address-text";
import { CompiledResource } from "@gatehouse/policy/model/compiled-resource";
import type { FactChange, ResourceFacts } from "@gatehouse/policy/model/facts";
import { finish } from "@gatehouse/policy/work";
import fc from "fast-check";
import { expect, test } from "vitest";
import { CachedModel } from "../cached-model.ts";
import { deviceFormat, type ModelFacts, resourceFormat, userFormat } from "./packed-facts.ts";
import { PackedPages, PackedRecords, type RowFormat } from "./packed-records.ts";

/** Some ids have the same hash, because only their ends are hashed. */
const ids = Array.from(
  { length: 100 },
  (_, index) => `0199000${index % 3}-0000-7000-8000-${String(Math.floor(index / 3)).padStart(12, "0")}`,
);
const names = ids.map((_, index) => (index % 10 === 0 ? `"Quote" \\ ${index} 🙂` : `Resource ${index}`));
const gateways = ids.slice(0, 3);

const addresses = [
  "10.0.0.1",
  "10.0.0.1/32",
  "10.0.0.0/24",
  "10.0.0.0/8",
  "fd00::1",
  "fd00::/64",
  "db.example.com",
  "*.example.com",
  "*.com",
  ...ids.map((_, index) => `10.1.0.${index}`),
];

const addressFacts = fc.record({
  address: fc.constantFrom(...addresses),
  answersWithin: fc.constantFrom(null, null, [], ["10.0.0.0/8", "fd00::/64"]),
  protocols: fc.subarray([
    { protocol: "TCP" as const, port: "443" },
    { protocol: "TCP" as const, port: "20-25" },
    { protocol: "UDP" as const },
    { protocol: "ICMP" as const },
  ]),
});

const resourceOf = (index: number): fc.Arbitrary<ResourceFacts> =>
  fc.record({
    id: fc.constant(ids[index] ?? ""),
    name: fc.constantFrom(names[index] ?? "", `Other ${index}`),
    type: fc.constantFrom("PRIVATE", "SAAS", "INTERNET"),
    loadBalancingMode: fc.constantFrom("MANUAL", "AUTOMATIC"),
    addresses: fc.uniqueArray(addressFacts, { selector: ({ address }) => address, maxLength: 3 }),
    gateways: fc.shuffledSubarray(gateways),
  });

const resources = fc.tuple(...ids.map((_, index) => resourceOf(index))).chain((all) => fc.subarray(all));
const changes = fc
  .tuple(...ids.map((id, index) => fc.oneof(resourceOf(index), fc.constant(id), fc.constant(undefined))))
  .map((all) =>
    all.flatMap((each): FactChange[] => {
      if (each === undefined) return [];
      return [typeof each === "string" ? { kind: "resource", gone: each } : { kind: "resource", facts: each }];
    }),
  );
/** Many changes at once are packed, and few are not. */
const batches = fc.array(
  fc.oneof(
    changes,
    fc.tuple(changes, fc.nat(9)).map(([all, count]) => all.slice(0, count)),
  ),
  { maxLength: 4 },
);

const none = { groups: [], gateways: [], rules: [], policies: [] };

function packed<Value>(values: readonly Value[], format: RowFormat<Value>): PackedRecords<Value> {
  const pages = new PackedPages();
  for (let start = 0; start < values.length; start += 20) {
    finish(pages.encoding(values.slice(start, start + 20), format));
  }
  return finish(PackedRecords.indexing(pages, format));
}

function packedModel(facts: readonly ResourceFacts[], retained: number): CachedModel {
  const model: ModelFacts = {
    users: packed([], userFormat()),
    devices: packed([], deviceFormat()),
    resources: packed(
      facts.map((each) => new CompiledResource(each)),
      { ...resourceFormat(), retained },
    ),
    others: none,
  };
  return finish(CachedModel.buildingPacked(1, model));
}

/** Everything that decisions can learn about resources. */
function contentsOf(cached: CachedModel) {
  const { model } = cached;
  const byAddress = addresses.map((text) => {
    const reading = parseAddressText(text);
    if (!reading.ok) throw new Error(`"${text}" is not an address`);
    const { value } = reading;
    const single =
      value.kind === "host"
        ? model.addresses.ofHost(value.text)
        : value.isIp && model.addresses.ofIp({ version: value.range.version, bits: value.range.first });
    return { ...model.addresses.atAddress(text), single };
  });
  return {
    byAddress,
    size: model.resources.size,
    ids: [...model.resources.ids()].sort(),
    byId: ids.map((id) => {
      const resource = model.resources.get(id);
      return resource && { facts: resource.facts, named: resource.named, forRules: resource.forRules };
    }),
    all: [...model.resources.values()]
      .map(({ id, type, facts }) => ({ id, type, facts }))
      .sort((one, other) => (one.id < other.id ? -1 : 1)),
    byName: [...names, ...ids.map((_, index) => `Other ${index}`)].map((name) => cached.resourceIdOf(name)),
  };
}

test.each([3, 1_000])("packed resources equal unpacked ones under changes, with %d retained objects", (retained) => {
  fc.assert(
    fc.property(resources, batches, (facts, all) => {
      let dense = packedModel(facts, retained);
      let plain = CachedModel.of(1, { ...none, users: [], devices: [], resources: facts });
      const factsOfGeneration = new Map<number, string>();
      const compare = () => {
        expect(contentsOf(dense)).toEqual(contentsOf(plain));
        for (const { generation, facts: current } of dense.model.resources.values()) {
          const text = JSON.stringify(current);
          expect(factsOfGeneration.get(generation) ?? text).toBe(text);
          factsOfGeneration.set(generation, text);
        }
      };
      compare();
      for (const [index, batch] of all.entries()) {
        const [former, formerPlain] = [dense, plain];
        dense = finish(dense.changing(index + 2, batch));
        plain = finish(plain.changing(index + 2, batch));
        compare();
        // Former models stay valid.
        expect(contentsOf(former)).toEqual(contentsOf(formerPlain));
      }
    }),
    { numRuns: 12 },
  );
});

test("the objects of a resource have the same generation", () => {
  const facts: ResourceFacts = {
    id: ids[0] ?? "",
    name: "One",
    type: "SAAS",
    loadBalancingMode: "MANUAL",
    addresses: [],
    gateways: [],
  };
  const { resources: table } = packedModel([facts], 0).model;
  const [one, other] = [[...table.values()][0], [...table.values()][0]];
  expect(one).not.toBe(other);
  expect(one?.generation).toBe(other?.generation);
  expect(one?.named).toEqual({ id: facts.id, name: "One" });
});
