import { describe, expect, test } from "vitest";
import type { Filter, ListQuery } from "../list-query.ts";
import { countStatement, type ListSource, pageIdsStatement, pageOfItems, pageStatement } from "./list-statement.ts";

const source: ListSource = {
  table: "things",
  select: "id, name",
  columns: {
    id: { value: "item.id" },
    name: { value: "item.name", key: "item.name_key" },
    email: { value: "item.email_key", key: "item.email_key", lowerCase: true },
    active: { value: "item.active" },
    createdAt: { value: "item.created_at" },
    "tags.name": {
      value: "tag.name",
      within: (predicate) => `EXISTS (SELECT FROM tags AS tag WHERE tag.thing_id = item.id AND ${predicate})`,
    },
  },
};
const everything: ListQuery = { limit: 10, offset: 0, sort: [], filters: [] };

function whereOf(...filters: Filter[]): { readonly where: string; readonly parameters: readonly unknown[] } {
  const { statement, parameters } = countStatement(source, { ...everything, filters });
  const start = "SELECT count(*) AS count FROM things AS item WHERE item.tenant_id = current_tenant()";
  expect(statement.text.startsWith(start)).toBe(true);
  return { where: statement.text.slice(start.length), parameters };
}

test("a page is selected from the tenant's rows, ordered by id", () => {
  const { statement, parameters } = pageStatement(source, { ...everything, limit: 20, offset: 40 });
  expect(statement.text).toBe(
    "SELECT id, name FROM (SELECT item.* FROM things AS item WHERE item.tenant_id = current_tenant() ORDER BY item.id ASC LIMIT 20 OFFSET 40) AS item ORDER BY item.id ASC",
  );
  expect(parameters).toEqual([]);
});

test("a table of the operator is not restricted to a tenant", () => {
  const { statement } = countStatement({ ...source, inTenant: false }, everything);
  expect(statement.text.trim()).toBe("SELECT count(*) AS count FROM things AS item");
});

test("names sort by their keys, with id as the tie-break", () => {
  const sort = [
    { field: "name", descending: true },
    { field: "active", descending: false },
  ];
  expect(pageStatement(source, { ...everything, sort }).statement.text).toContain(
    "ORDER BY item.name_key DESC, item.active ASC, item.id ASC LIMIT",
  );
});

test("an order that ends in id gets no further tie-break", () => {
  const sort = [{ field: "id", descending: true }];
  expect(pageStatement(source, { ...everything, sort }).statement.text).toContain("ORDER BY item.id DESC LIMIT");
});

describe("a page after a record", () => {
  const after = "01980000-0000-7000-8000-000000000000";
  const record = "FROM things AS item WHERE item.tenant_id = current_tenant() AND item.id = $1::uuid";

  test.each([
    [[], `(item.id) > (SELECT item.id ${record})`],
    [["name"], `(item.name_key, item.id) > (SELECT item.name_key, item.id ${record})`],
    [["-id"], `(item.id) < (SELECT item.id ${record})`],
    [
      ["-name"],
      `(item.name_key <= (SELECT item.name_key ${record}) AND (item.name_key < (SELECT item.name_key ${record}) OR (item.name_key = (SELECT item.name_key ${record}) AND item.id > (SELECT item.id ${record}))))`,
    ],
  ])("in the order %j", (order, condition) => {
    const sort = order.map((field) => ({ field: field.replace("-", ""), descending: field.startsWith("-") }));
    const { statement, parameters } = pageIdsStatement(source, { ...everything, sort, after }, true);
    expect(statement.text).toContain(`WHERE item.tenant_id = current_tenant() AND ${condition} ORDER BY`);
    // One more row tells whether another page follows.
    expect(statement.text).toContain("LIMIT 11 OFFSET 0");
    expect(parameters).toEqual([after]);
  });
});

describe("filters", () => {
  const name = { field: "name", kind: "text" } as const;
  const email = { field: "email", kind: "text" } as const;

  test.each<[Filter, string, unknown]>([
    [{ ...name, operator: "eq", values: ["A"] }, "item.name = $1::text", "A"],
    [{ ...name, operator: "ne", values: ["A"] }, "NOT coalesce(item.name = $1::text, false)", "A"],
    [{ ...name, operator: "in", values: ["A", "B"] }, "item.name = ANY ($1::text[])", ["A", "B"]],
    [{ ...name, operator: "nin", values: ["A"] }, "NOT coalesce(item.name = ANY ($1::text[]), false)", ["A"]],
    [{ ...name, operator: "ilike", values: ["50\\_%"] }, "item.name_key LIKE lower($1::text)", "50\\\\\\_%"],
    [{ ...name, operator: "gt", values: ["A"] }, "item.name_key > lower($1::text)", "A"],
    [{ ...email, operator: "eq", values: ["A"] }, "item.email_key = lower($1::text)", "A"],
    [
      { ...email, operator: "nin", values: ["A", "B"] },
      "NOT coalesce(item.email_key = ANY (ARRAY (SELECT lower(given) FROM unnest($1::text[]) AS given)), false)",
      ["A", "B"],
    ],
    [{ ...email, operator: "ilike", values: ["A%"] }, "item.email_key LIKE lower($1::text)", "A%"],
    [{ ...email, operator: "lt", values: ["A"] }, "item.email_key < lower($1::text)", "A"],
    [{ field: "active", kind: "boolean", operator: "eq", values: ["true"] }, "item.active = $1::boolean", "true"],
    [
      { field: "createdAt", kind: "timestamp", operator: "lte", values: ["2026-01-31T00:00:00.000Z"] },
      "item.created_at <= $1::timestamptz",
      "2026-01-31T00:00:00.000Z",
    ],
    [
      { field: "tags.name", kind: "text", operator: "ne", values: ["x"] },
      "NOT coalesce(EXISTS (SELECT FROM tags AS tag WHERE tag.thing_id = item.id AND tag.name = $1::text), false)",
      "x",
    ],
  ])("%j", (filter, condition, parameter) => {
    expect(whereOf(filter)).toEqual({ where: ` AND ${condition}`, parameters: [parameter] });
  });

  test("are combined with AND, each with its own parameter", () => {
    const { where, parameters } = whereOf(
      { ...name, operator: "eq", values: ["A"] },
      { ...name, operator: "ilike", values: ["%b"] },
    );
    expect(where).toBe(" AND item.name = $1::text AND item.name_key LIKE lower($2::text)");
    expect(parameters).toEqual(["A", "%b"]);
  });

  test("are never interpolated into the text", () => {
    const { where } = whereOf({ ...name, operator: "eq", values: ["'; DROP TABLE things; --"] });
    expect(where).not.toContain("DROP");
  });
});

describe("a page's numbers", () => {
  test.each([
    [0, 10, 10, 10, { page: 0, hasNext: false, hasPrevious: false }],
    [0, 10, 10, 11, { page: 0, hasNext: true, hasPrevious: false }],
    [10, 10, 1, 11, { page: 1, hasNext: false, hasPrevious: true }],
    [15, 10, 10, 40, { page: 1, hasNext: true, hasPrevious: true }],
    [100, 10, 0, 11, { page: 10, hasNext: false, hasPrevious: true }],
  ])("offset %i, limit %i, %i items of %i", (offset, limit, count, total, expected) => {
    const page = pageOfItems({ ...everything, offset, limit }, Array.from({ length: count }), total);
    expect(page).toMatchObject({ ...expected, total, limit });
  });
});
