import { list } from "@gatehouse/contract/list";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ListQuery, parseListQuery, type QueryParameters } from "./list-query.ts";

const declaration = list({
  sort: ["id", "name", "createdAt"],
  filter: {
    id: { kind: "uuid" },
    name: { kind: "text" },
    "groups.id": { kind: "uuid" },
    createdAt: { kind: "timestamp" },
    active: { kind: "boolean" },
    status: { kind: "enum", values: ["active", "pending"] },
  },
});
const id = "0189a1b2-0000-7000-8000-00000000abcd";

function parsed(parameters: QueryParameters): ListQuery {
  const result = parseListQuery(declaration, parameters);
  if (!result.ok) throw new Error(`${result.problem.parameter} ${result.problem.message}`);
  return result.value;
}

function problem(parameters: QueryParameters): string {
  const result = parseListQuery(declaration, parameters);
  if (result.ok) throw new Error(`was taken as ${JSON.stringify(result.value)}`);
  return `${result.problem.parameter} ${result.problem.message}`;
}

test("without parameters, a list returns its first ten items ordered by id", () => {
  expect(parsed({})).toEqual({ limit: 10, offset: 0, sort: [], filters: [] });
});

describe("paging", () => {
  test.each<[QueryParameters, { limit: number; offset: number }]>([
    [{ limit: "25" }, { limit: 25, offset: 0 }],
    [
      { "page[limit]": "25", "page[offset]": "50" },
      { limit: 25, offset: 50 },
    ],
    [
      { limit: "25", "page[limit]": "25" },
      { limit: 25, offset: 0 },
    ],
    [{ limit: ["25", "025"] }, { limit: 25, offset: 0 }],
    [{ limit: "100" }, { limit: 100, offset: 0 }],
    [{ limit: "101" }, { limit: 100, offset: 0 }],
    [{ limit: "999999999999999" }, { limit: 100, offset: 0 }],
    [{ offset: "1000000000" }, { limit: 10, offset: 1_000_000_000 }],
  ])("%j", (parameters, expected) => {
    expect(parsed(parameters)).toMatchObject(expected);
  });

  test.each<[QueryParameters, string]>([
    [{ limit: "0" }, "limit must be at least 1, not 0"],
    [{ limit: "-5" }, "limit must be at least 1, not -5"],
    [{ limit: "" }, "limit must be an integer"],
    [{ limit: "ten" }, 'not "ten"'],
    [{ limit: "1.5" }, "must be an integer"],
    [{ limit: "1e2" }, "must be an integer"],
    [{ limit: "9999999999999999" }, "must be an integer"],
    [{ offset: "-1" }, "offset must be at least 0"],
    [{ offset: "1000000001" }, "offset exceeds the limit of 1000000000"],
    [{ limit: "10", "page[limit]": "20" }, "given twice with different values: 10 and 20"],
    [{ offset: ["1", "2"] }, "given twice with different values"],
    [{ "page[after]": "first" }, "page[after] must be the id of a record"],
    [{ "page[after]": [id, id] }, "page[after] must be given once"],
    [{ "page[after]": id, offset: "0" }, "page[after] cannot be combined with offset"],
    [{ "page[after]": id, page: "0" }, "page[after] cannot be combined with page"],
  ])("%j is rejected", (parameters, message) => {
    expect(problem(parameters)).toContain(message);
  });
});

describe("sort", () => {
  test.each([
    ["name", [{ field: "name", descending: false }]],
    ["-name", [{ field: "name", descending: true }]],
    ["name:asc", [{ field: "name", descending: false }]],
    ["name:desc", [{ field: "name", descending: true }]],
    [
      "name:desc, createdAt",
      [
        { field: "name", descending: true },
        { field: "createdAt", descending: false },
      ],
    ],
    ["name,-name", [{ field: "name", descending: false }]],
  ])("%s", (sort, expected) => {
    expect(parsed({ sort }).sort).toEqual(expected);
  });

  test("can be repeated", () => {
    expect(parsed({ sort: ["-createdAt", "name"] }).sort.map(({ field }) => field)).toEqual(["createdAt", "name"]);
  });

  test.each([
    ["colour", 'cannot sort by "colour". Sortable fields: id, name, createdAt'],
    ["status", "cannot sort by"],
    ["constructor", "cannot sort by"],
    ["", "must be field"],
    ["name,,id", "must be field"],
    ["name:up", "must be field"],
    ["-name:asc", "must be field"],
    ["--name", "must be field"],
  ])("%j is rejected", (sort, message) => {
    expect(problem({ sort })).toContain(message);
  });
});

describe("filters", () => {
  test.each<[string, string, object]>([
    ["filter[name]", "a", { field: "name", kind: "text", operator: "eq", values: ["a"] }],
    ["filter[name]", "", { operator: "eq", values: [""] }],
    ["filter[name]", "a,b", { operator: "eq", values: ["a,b"] }],
    ["filter[name][in]", "a,b", { operator: "in", values: ["a", "b"] }],
    ["filter[name][ilike]", "%a%", { operator: "ilike", values: ["%a%"] }],
    ["filter[groups.id][nin]", `${id},${id}`, { field: "groups.id", operator: "nin", values: [id, id] }],
    ["filter[createdAt][gte]", "2026-01-31T02:00:00+02:00", { values: ["2026-01-31T00:00:00.000Z"] }],
    ["filter[active]", "true", { kind: "boolean", values: ["true"] }],
    ["filter[status][ne]", "active", { kind: "enum", operator: "ne", values: ["active"] }],
    ["filter[status][ilike]", "act%", { operator: "ilike", values: ["act%"] }],
  ])("%s=%s", (name, value, expected) => {
    expect(parsed({ [name]: value }).filters).toEqual([expect.objectContaining(expected)]);
  });

  test("on one field combine", () => {
    expect(parsed({ "filter[name][ilike]": ["a%", "%b"], "filter[name][ne]": "ab" }).filters).toHaveLength(3);
  });

  test.each<[string, string, string]>([
    ["filter[colour]", "red", "Filterable fields: id, name"],
    ["filter[__proto__]", "x", "cannot filter by"],
    ["filter[constructor]", "x", "cannot filter by"],
    ["filter[name][like]", "a", '"like" is not an operator for name'],
    ["filter[name][toString]", "a", "is not an operator"],
    ["filter[active][gt]", "true", "Operators: eq, ne, in, nin"],
    ["filter[id][ilike]", "0189%", "is not an operator"],
    ["filter[id]", "0189", "must be a UUID"],
    ["filter[id][in]", `${id},`, 'must be a UUID, not ""'],
    ["filter[active]", "yes", "must be true or false"],
    ["filter[status]", "gone", "must be one of active, pending"],
    ["filter[createdAt][gt]", "yesterday", "must be a time in ISO 8601"],
    ["filter[createdAt][gt]", "2026-02-30", "must be a time in ISO 8601"],
    ["filter[name]", "a\u0000b", "must be text"],
    ["filter[status][ilike]", "\u0000", "must be text"],
    ["filter[name]", "a".repeat(1001), "at most 1,000 characters"],
    ["filter[name][in]", Array.from({ length: 101 }, () => "a").join(","), "can have at most 100 values"],
    ["filter[name", "a", "is not a parameter of this list"],
    ["filter[name][eq][eq]", "a", "is not a parameter"],
    ["filter[]", "a", "is not a parameter"],
    ["filter", "a", "is not a parameter"],
    ["q", "a", "Parameters: limit, offset, page, page[limit]"],
  ])("%s=%s is rejected", (name, value, message) => {
    expect(problem({ [name]: value })).toContain(message);
  });

  test("are limited in number", () => {
    expect(problem({ "filter[name]": Array.from({ length: 51 }, () => "a") })).toContain(
      "exceeds the limit of 50 filters",
    );
  });

  test("truncate long values in the message", () => {
    expect(problem({ "filter[id]": "x".repeat(900) }).length).toBeLessThan(200);
  });
});

describe("any parameters", () => {
  const text = fc.oneof(
    fc.string(),
    fc.constantFrom("name", "-id", "a,b", id, "2026-01-31", "true", "active", "10", "-1", "\u0000"),
  );
  const name = fc.oneof(
    fc.constantFrom("limit", "offset", "page[limit]", "page[offset]", "page[after]", "sort", "__proto__"),
    fc
      .tuple(
        fc.constantFrom(...Object.keys(declaration.filter), "toString"),
        fc.constantFrom("", "[eq]", "[in]", "[nin]", "[ilike]", "[gt]", "[hasOwnProperty]"),
      )
      .map(([field, operator]) => `filter[${field}]${operator}`),
    fc.string(),
  );
  const parameters = fc.dictionary(name, fc.oneof(text, fc.array(text, { maxLength: 3 })), { maxKeys: 5 });

  test("result in a query that the database accepts, or in a problem with a given parameter", () => {
    fc.assert(
      fc.property(parameters, (given) => {
        const result = parseListQuery(declaration, given);
        if (!result.ok) {
          expect([...Object.keys(given), "limit", "offset", "sort"]).toContain(result.problem.parameter);
          expect(result.problem.message).not.toBe("");
          return;
        }
        const { limit, offset, sort, filters } = result.value;
        expect(limit).toBeGreaterThanOrEqual(1);
        expect(limit).toBeLessThanOrEqual(100);
        expect(offset).toBeGreaterThanOrEqual(0);
        expect(new Set(sort.map(({ field }) => field)).size).toBe(sort.length);
        for (const { field } of sort) expect(declaration.sort).toContain(field);
        for (const filter of filters) {
          expect(Object.keys(declaration.filter)).toContain(filter.field);
          expect(filter.values.length).toBeGreaterThan(0);
          expect(filter.values.join("")).not.toContain("\u0000");
          if (filter.kind === "uuid") for (const value of filter.values) expect(value).toMatch(/^[0-9a-fA-F-]{36}$/);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
