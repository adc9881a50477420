import fc from "fast-check";
import { expect, test } from "vitest";
import type { Work } from "../work.ts";
import { addressKeyOf } from "./address-key.ts";
import { type Entries, offersIn } from "./address-offers.ts";
import type { AddressFacts, FactChange, ResourceFacts, TenantFacts } from "./facts.ts";
import { compile, type Model, update, updating } from "./model.ts";

const nothing = { users: [], groups: [], devices: [], gateways: [], rules: [], policies: [] };

function idOf(index: number): string {
  return `0199aaaa-0000-7000-8000-${String(index).padStart(12, "0")}`;
}

function resourceOf(index: number, given: readonly AddressFacts[]): ResourceFacts {
  const addresses = given.map((facts) => (facts.address === own ? { ...facts, address: ownOf(index) } : facts));
  return { id: idOf(index), name: "", type: "PRIVATE", loadBalancingMode: "MANUAL", addresses, gateways: [] };
}

function modelOf(resources: TenantFacts["resources"]): Model {
  return compile({ ...nothing, resources });
}

/** Few addresses for many resources. Most have more than 64 of them, and two notations are of one address. */
const shared = ["10.0.0.1", "10.0.0.1/32", "10.0.0.0/24", "10.0.0.0/8", "fd00::/64", "*.example.com", "*.com", "a.com"];
const indexes = Array.from({ length: 300 }, (_, index) => index);
/** Stands for an address that no other resource has. With many of them, the index is built again. */
const own = "own";
const ownOf = (index: number) => `host-${index}.example.org`;
const texts = [...shared, ownOf(0), ownOf(1), ownOf(299)];

const list = fc.subarray([
  { protocol: "TCP" as const, port: "443" },
  { protocol: "TCP" as const, port: "20-25" },
  { protocol: "UDP" as const },
]);
const addresses = fc.uniqueArray(
  fc.record({
    address: fc.constantFrom(...shared, own, own, own, own),
    protocols: fc.oneof(list, fc.array(list, { maxLength: 2 })),
  }),
  { selector: ({ address }) => address, maxLength: 3 },
);
/** Undefined means that the resource does not change; no addresses mean that it is deleted. */
const batch = fc.oneof(
  fc.array(fc.option(addresses, { nil: undefined }), { minLength: indexes.length, maxLength: indexes.length }),
  fc.array(fc.option(addresses, { nil: undefined }), { maxLength: 5 }),
);

function changeOf(index: number, given: readonly AddressFacts[]): FactChange {
  const facts = resourceOf(index, given);
  return given.length === 0 ? { kind: "resource", gone: facts.id } : { kind: "resource", facts };
}

function entriesOf({ addresses: directory }: Model) {
  return texts.map((text) => directory.atAddress(text));
}

/** All entries at an address, as the contract defines them. */
function entriesAt(text: string, resources: ReadonlyMap<number, ResourceFacts>): Entries {
  return indexes.flatMap((index) => {
    const listed = (resources.get(index)?.addresses ?? []).filter(
      ({ address }) => addressKeyOf(address)?.text === addressKeyOf(text)?.text,
    );
    if (listed.length === 0) return [];
    return [{ resourceId: idOf(index), offers: listed.flatMap(({ protocols }) => offersIn(protocols)) }];
  });
}

test("crowded addresses have the entries of all their resources after any changes", () => {
  fc.assert(
    fc.property(fc.array(batch, { minLength: 1, maxLength: 4 }), fc.boolean(), (batches, compiled) => {
      const resources = new Map<number, ResourceFacts>();
      let model = modelOf([]);
      for (const [number, changed] of batches.entries()) {
        const [former, before] = [model, entriesOf(model)];
        const changes = changed.flatMap((given, index) => (given === undefined ? [] : changeOf(index, given)));
        for (const [index, given] of changed.entries()) {
          if (given?.length === 0) resources.delete(index);
          else if (given !== undefined) resources.set(index, resourceOf(index, given));
        }
        const fresh = modelOf([...resources.values()]);
        model = compiled && number === 0 ? fresh : update(model, changes.toReversed());
        expect(entriesOf(model).map(({ same }) => same)).toEqual(texts.map((text) => entriesAt(text, resources)));
        expect(entriesOf(model)).toEqual(entriesOf(fresh));
        // Former models stay valid.
        expect(entriesOf(former)).toEqual(before);
      }
    }),
    { numRuns: 15 },
  );
});

/** The elements of lists that a work reads or copies, and the most of them between two yields. */
function elementsOf(work: Work<unknown>): { readonly total: number; readonly atOnce: number } {
  let [total, atOnce, before, copied] = [0, 0, 0, 0];
  const iterators = Object.getPrototypeOf([][Symbol.iterator]()) as IterableIterator<unknown>;
  const restored = [
    replacing(iterators, "next", () => {
      total += 1;
    }),
    replacing(Array.prototype, "filter", (list) => {
      total += list.length;
    }),
    // Copies a whole list in one step, which takes little time for each element.
    replacing(Array.prototype, "concat", (list) => {
      copied += list.length;
    }),
  ];
  try {
    for (let step = work.next(); ; step = work.next()) {
      atOnce = Math.max(atOnce, total - before);
      before = total;
      if (step.done === true) return { total: total + copied, atOnce };
    }
  } finally {
    for (const restore of restored) restore();
  }
}

/** Calls a function before each call of a method. A spy would retain all calls. */
function replacing(prototype: object, name: string, called: (list: readonly unknown[]) => void): () => void {
  const method = Reflect.get(prototype, name) as (...given: unknown[]) => unknown;
  const replacement = function (this: readonly unknown[], ...given: unknown[]) {
    called(this);
    return Reflect.apply(method, this, given);
  };
  Object.defineProperty(prototype, name, { value: replacement, configurable: true, writable: true });
  return () => Object.defineProperty(prototype, name, { value: method, configurable: true, writable: true });
}

test.each(["10.0.0.1", "10.0.0.0/8", "*.example.com", "db.example.com"])(
  "resources at %s are created, changed and deleted in linear time and short steps",
  (address) => {
    const numbersOf = (count: number) => {
      const resources = Array.from({ length: count }, (_, index) =>
        resourceOf(index, [{ address, protocols: [{ protocol: "TCP", port: "443" }] }]),
      );
      const created = resources.map((facts): FactChange => ({ kind: "resource", facts }));
      const renamed = resources.map((facts): FactChange => ({ kind: "resource", facts: { ...facts, name: "New" } }));
      const deleted = resources.map(({ id }): FactChange => ({ kind: "resource", gone: id }));
      const model = update(modelOf([]), created);
      return [
        elementsOf(updating(modelOf([]), created)),
        elementsOf(updating(model, renamed)),
        elementsOf(updating(model, deleted)),
      ];
    };
    const [few, many] = [numbersOf(500), numbersOf(1_000)];
    for (const [index, { total, atOnce }] of many.entries()) {
      expect(total).toBeLessThan(2.2 * (few[index]?.total ?? 0));
      expect(atOnce).toBeLessThan(1_500);
    }
  },
);
