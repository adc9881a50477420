/** Holds lists of resources, whatever is asked of them, against a naive list in memory. */
import { type FilterOperator, operatorsFor } from "@gatehouse/contract/list";
import { resourceTypes } from "@gatehouse/contract/records/address";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeId, unique } from "../../testing/operations/test-records.ts";
import { startTestServer, type TestClient, type TestServer } from "../../testing/test-server.ts";

/** Names that are alike but for case, or mean something to LIKE, SQL, JSON, URLs, comma lists or sort orders. */
const trickyNames = [
  ..."alpha|Alpha|ALPHA|alpha 1|alpha 10|alpha 2|alpha-1|alpha_1|alphaX1|Beta|beta|BETA|beta's|beta''s".split("|"),
  ...'beta"s|100%|100 %|%|%%|_|__|a_c|abc|a%c|a\\c|a\\\\c|\\|\\%|a,b|,|a, b|null|NULL|true|0|00|1e3'.split("|"),
  ..."-1|'; DROP TABLE resources; --|$1|$name|[eq]|filter[name]|a&b=c|a+b|a b|#?/|~|{}|[]|é|É|e\u0301".split("|"),
  ..."Zürich|zürich|ZÜRICH|Москва|москва|Ωmega|ωmega|日本|한국|🔒|🔓|\ufffd|\ue000|z|Z|ä".split("|"),
  "x".repeat(120),
  "X".repeat(119),
];

interface Listed {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly gateways: readonly string[];
  readonly protocols: readonly string[];
  readonly policies: readonly string[];
}

let server: TestServer;
let client: TestClient;
let everything: readonly Listed[];
/** Ids that a filter may name, of all kinds. */
let knownIds: readonly string[];

beforeAll(async () => {
  server = await startTestServer();
  client = (await server.newTenant()).client;
  const make = (noun: "gateway" | "protocol") => Promise.all([1, 2, 3].map(() => makeId(noun, client)));
  const [gateways, protocols] = await Promise.all([make("gateway"), make("protocol")]);
  /** Every subset of three, over and over. */
  const subset = (ids: readonly string[], number: number) => ids.filter((_, bit) => (number >> bit) % 2 === 1);
  const listed: Listed[] = [];
  for (const [index, name] of trickyNames.entries()) {
    const type = resourceTypes[index % 3] ?? "PRIVATE";
    const used = subset(protocols, index >> 1);
    const addresses = used.map((id, address) => ({ address: `host-${address}`, protocols: [id] }));
    const { status, body, text } = await client.post("/tenants/resources", { name, type, addresses });
    expect(status, text).toBe(201);
    const connected = subset(gateways, index);
    await client.post(`/tenants/resources/${body.id}/loadBalancing`, {
      loadBalancingMode: "MANUAL",
      gateways: connected,
    });
    listed.push({ id: body.id, name, type, gateways: connected, protocols: used, policies: [] });
  }
  const policies: { id: string; resources: readonly string[] }[] = [];
  for (const step of [2, 3]) {
    const resources = listed.filter((_, index) => index % step === 0).map(({ id }) => id);
    const fields = { name: unique("Policy"), type: "PRIVATE", action: true, resources };
    const { status, body, text } = await client.post("/tenants/policies", fields);
    expect(status, text).toBe(201);
    policies.push({ id: body.id, resources });
  }
  everything = listed.map((resource) => ({
    ...resource,
    policies: policies.filter(({ resources }) => resources.includes(resource.id)).map(({ id }) => id),
  }));
  knownIds = [...gateways, ...protocols, ...policies.map(({ id }) => id), ...listed.slice(0, 10).map(({ id }) => id)];
}, 60_000);
afterAll(() => server.close());

// The reference ----------------------------------------------------------------------------------------------------

/** Lower case, one code point for another. */
function folded(text: string): string {
  return [...text]
    .map((character) => [character.toLowerCase(), character].find((form) => [...form].length === 1))
    .join("");
}

/** By code point, as PostgreSQL's collation "C" compares. */
function compare(one: string, two: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(two));
}

const fields = {
  id: { kind: "uuid", valuesOf: ({ id }: Listed) => [id] },
  name: { kind: "text", valuesOf: ({ name }: Listed) => [name] },
  type: { kind: "enum", valuesOf: ({ type }: Listed) => [type] },
  "gateways.id": { kind: "uuid", valuesOf: ({ gateways }: Listed) => gateways },
  "addresses.protocols.id": { kind: "uuid", valuesOf: ({ protocols }: Listed) => protocols },
  "policies.id": { kind: "uuid", valuesOf: ({ policies }: Listed) => policies },
} as const;
type Field = keyof typeof fields;

/** What filters ask of a list. */
interface AskedFilter {
  readonly field: Field;
  readonly operator: FilterOperator;
  readonly text: string;
}

function alike(value: string, pattern: string): boolean {
  const parts = folded(pattern)
    .split("%")
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "su").test(folded(value));
}

function meets(resource: Listed, { field, operator, text }: AskedFilter): boolean {
  const values = fields[field].valuesOf(resource);
  const order = (value: string) =>
    fields[field].kind === "text" ? compare(folded(value), folded(text)) : compare(value, text);
  switch (operator) {
    case "eq":
      return values.includes(text);
    case "ne":
      return !values.includes(text);
    case "in":
      return text.split(",").some((one) => values.includes(one));
    case "nin":
      return !text.split(",").some((one) => values.includes(one));
    case "ilike":
      return values.some((value) => alike(value, text));
    case "gt":
      return values.some((value) => order(value) > 0);
    case "gte":
      return values.some((value) => order(value) >= 0);
    case "lt":
      return values.some((value) => order(value) < 0);
    case "lte":
      return values.some((value) => order(value) <= 0);
  }
}

interface AskedSorting {
  readonly field: "id" | "name";
  readonly descending: boolean;
}

function sorted(resources: readonly Listed[], sorting: readonly AskedSorting[]): readonly Listed[] {
  return [...resources].sort((one, two) => {
    for (const { field, descending } of sorting) {
      const order = field === "id" ? compare(one.id, two.id) : compare(folded(one.name), folded(two.name));
      if (order !== 0) return descending ? -order : order;
    }
    return compare(one.id, two.id);
  });
}

// What is asked ----------------------------------------------------------------------------------------------------

const name = fc.constantFrom(...trickyNames);
const someText = fc.oneof(
  { weight: 4, arbitrary: name },
  { weight: 2, arbitrary: fc.constantFrom("", "a", "A", "é", "%", "alpha", "ALPH", "zz", "一", "🔒") },
  { weight: 1, arbitrary: fc.string({ unit: fc.constantFrom("a", "B", "%", "_", "\\", "é", "x", " "), maxLength: 8 }) },
);
const pattern = fc.oneof(
  someText,
  someText.map((text) => `%${text}%`),
  someText.map((text) => `${text}%`),
  someText.map((text) => `%${[...text].slice(1).join("")}`),
);

function textOf(field: Field, operator: FilterOperator): fc.Arbitrary<string> {
  const id = fc.nat().map((number) => knownIds[number % knownIds.length] ?? "");
  const kinds = { uuid: id, text: someText, enum: fc.constantFrom<string>(...resourceTypes) };
  const one = operator === "ilike" ? pattern : kinds[fields[field].kind];
  const isList = operator === "in" || operator === "nin";
  return isList ? fc.array(one, { minLength: 1, maxLength: 4 }).map((values) => values.join(",")) : one;
}

function operatorsOf(field: Field): readonly FilterOperator[] {
  const { kind } = fields[field];
  return operatorsFor(kind === "enum" ? { kind, values: resourceTypes } : { kind });
}

const filter: fc.Arbitrary<AskedFilter> = fc
  .constantFrom(...(Object.keys(fields) as Field[])) // the keys of the table are its fields
  .chain((field) => fc.tuple(fc.constant(field), fc.constantFrom(...operatorsOf(field))))
  .chain(([field, operator]) => textOf(field, operator).map((text) => ({ field, operator, text })));

const sorting = fc.uniqueArray(fc.record({ field: fc.constantFrom("id", "name"), descending: fc.boolean() } as const), {
  maxLength: 2,
  selector: ({ field }) => field,
});

interface Asked {
  readonly filters: readonly AskedFilter[];
  readonly sorting: readonly AskedSorting[];
  readonly limit: number;
  readonly offset: number;
  /** Which of the two spellings the parameters have. */
  readonly bracketed: boolean;
}

const query: fc.Arbitrary<Asked> = fc.record({
  filters: fc.array(filter, { maxLength: 3 }),
  sorting,
  limit: fc.integer({ min: 1, max: 100 }),
  offset: fc.integer({ min: 0, max: 100 }),
  bracketed: fc.boolean(),
});

function pathOf({ filters, sorting: wanted, limit, offset, bracketed }: Asked): string {
  const parameters = new URLSearchParams();
  for (const { field, operator, text } of filters) {
    parameters.append(operator === "eq" && bracketed ? `filter[${field}]` : `filter[${field}][${operator}]`, text);
  }
  const spelled = wanted.map(({ field, descending }) => {
    if (bracketed) return descending ? `-${field}` : field;
    return `${field}:${descending ? "desc" : "asc"}`;
  });
  if (spelled.length > 0) parameters.append("sort", spelled.join(","));
  parameters.append(bracketed ? "page[limit]" : "limit", String(limit));
  parameters.append(bracketed ? "page[offset]" : "offset", String(offset));
  return `/tenants/resources?${parameters}`;
}

test("any combination of filters, sort and page finds what a naive list finds, in its order, with its total", async () => {
  await fc.assert(
    fc.asyncProperty(query, async (asked) => {
      const { filters, sorting: wanted, limit, offset } = asked;
      const matching = sorted(
        everything.filter((resource) => filters.every((one) => meets(resource, one))),
        wanted,
      );
      const { status, body, text } = await client.get(pathOf(asked));
      expect(status, text).toBe(200);
      const names = new Map(everything.map((resource) => [resource.id, resource.name]));
      expect(body.data.map(({ id }: { id: string }) => names.get(id))).toEqual(
        matching.slice(offset, offset + limit).map((resource) => resource.name),
      );
      expect(body).toMatchObject({
        total: matching.length,
        page: Math.floor(offset / limit),
        limit,
        hasNext: offset + limit < matching.length,
        hasPrevious: offset > 0,
      });
    }),
    { numRuns: 300 },
  );
}, 60_000);
