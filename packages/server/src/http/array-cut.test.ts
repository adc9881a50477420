import type { FastifyReply } from "fastify";
import { beforeAll, describe, expect, test } from "vitest";
import { streamed } from "../platform/outcome.ts";
import { sharedTestServer, type TestServer, type TestTenant } from "../testing/test-server.ts";
import { cutOutcome } from "./array-cut.ts";

let server: TestServer;
let tenant: TestTenant;
let all: readonly { readonly id: string }[];
beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
  all = (await tenant.client.get("/tenants/protocols")).body;
});

const path = "/tenants/protocols";

describe("a list that is an array", () => {
  test("is complete without parameters", async () => {
    const { body, headers } = await tenant.client.get(path);
    expect(body).toHaveLength(11);
    expect([headers["x-total-count"], headers.link]).toEqual([undefined, undefined]);
  });

  test.each([
    ["limit=3", 0, 3],
    ["limit=3&offset=4", 4, 3],
    ["offset=9", 9, undefined],
    ["limit=100", 0, 100],
    ["limit=2&page=1", 2, 2],
    ["page=1", 10, 10],
    ["page[limit]=2&page[offset]=3", 3, 2],
    ["limit=2&offset=5&page=2", 5, 2],
    ["limit=2&offset=100", 100, 2],
  ])("is cut by %s", async (query, offset, limit) => {
    const { status, body, headers, text } = await tenant.client.get(`${path}?${query}`);
    expect(status, text).toBe(200);
    expect(body).toEqual(all.slice(offset, limit === undefined ? undefined : offset + limit));
    expect(headers["x-total-count"]).toBe(String(all.length));
  });

  test("links to its other parts, which together are the whole", async () => {
    const found: unknown[] = [];
    let next: string | undefined = `${path}?limit=4`;
    while (next !== undefined) {
      const { body, headers }: { body: unknown[]; headers: Readonly<Record<string, string | undefined>> } =
        await tenant.client.get(next);
      found.push(...body);
      next = /<([^>]+)>; rel="next"/.exec(headers.link ?? "")?.[1];
    }
    expect(found).toEqual(all);
    const { headers } = await tenant.client.get(`${path}?limit=4&offset=4`);
    expect(headers.link).toBe(
      [
        `<${path}?limit=4&offset=0>; rel="first"`,
        `<${path}?limit=4&offset=0>; rel="prev"`,
        `<${path}?limit=4&offset=8>; rel="next"`,
        `<${path}?limit=4&offset=8>; rel="last"`,
      ].join(", "),
    );
  });

  test("keeps the other parameters of the request in its links", async () => {
    const { body } = await tenant.client.get("/tenants/users");
    const { headers } = await tenant.client.get(`/tenants/users/${body.data[0].id}/roles?rolesOnly&limit=1`);
    expect(headers.link).toContain("rolesOnly=&limit=1&offset=0");
  });

  test.each([
    "limit=0",
    "limit=x",
    "offset=-1",
    "page=-1",
    "page=1&offset=3&limit=2&page=2",
    "limit=1&page[limit]=2",
    "size=3",
  ])("answers 400 to %s", async (query) => {
    expect(await tenant.client.get(`${path}?${query}`)).toMatchObject({
      status: 400,
      body: { code: "invalid_parameter" },
    });
  });
});

test.each([
  [{ offset: 0, limit: undefined }, 501],
  [{ offset: 500, limit: undefined }, 1],
  [{ offset: 0, limit: 501 }, 501],
  [{ offset: 0, limit: 500 }, 500],
])("at most 500 items of a streamed list are read by one statement (%j)", async (cut, count) => {
  const items = Array.from({ length: 501 }, (_, index) => ({ id: String(index).padStart(4, "0") }));
  const read: number[] = [];
  const outcome = streamed(
    async (afterId, limit) => {
      read.push(limit);
      return items.filter(({ id }) => afterId.length > 4 || id > afterId).slice(0, limit);
    },
    async ({ offset, limit }) => {
      read.push(limit);
      return { items: items.slice(offset, offset + limit), total: items.length };
    },
  );
  const reply = { header: () => undefined, request: { url: "/list" } };
  const part = await cutOutcome(outcome, cut, reply as unknown as FastifyReply); // all that the function uses
  const found: unknown[] = [];
  if (part.kind === "array") for await (const batch of part.batches) found.push(...batch);
  expect(found).toEqual(items.slice(cut.offset, cut.offset + count));
  expect(Math.max(...read)).toBeLessThanOrEqual(500);
});

describe("page of a paginated list", () => {
  test.each([
    ["page=2&limit=5", 10],
    ["page=0", 0],
    ["page=1&limit=5&offset=7", 7],
  ])("%s skips items", async (query, offset) => {
    const { status, body, text } = await tenant.client.get(`/tenants/groups?${query}`);
    expect(status, text).toBe(200);
    expect(body.page).toBe(Math.floor(offset / body.limit));
  });

  test.each(["page=1&offset=0", "page=0&offset=10", "page=x", "page=-1", "page=1&page=2"])(
    "%s gets 400",
    async (query) => {
      const reply = await tenant.client.get(`/tenants/groups?${query}`);
      expect(reply).toMatchObject({ status: 400, body: { code: "invalid_parameter" } });
    },
  );

  test("a page number that contradicts offset is named with the page of that offset", async () => {
    const { body } = await tenant.client.get("/tenants/groups?page=3&offset=20");
    expect(body.detail).toBe("page contradicts offset: offset 20 is on page 2.");
  });
});

test("attributes can be given when users are created", async () => {
  const attributes = { department: "Engineering", grade: 7, remote: true };
  const made = await tenant.client.post("/tenants/users", { email: "one@example.com", attributes });
  expect(made).toMatchObject({ status: 201, body: { attributes } });
  const many = await tenant.client.post("/tenants/users", [
    { email: "two@example.com", attributes: { title: "Lead" } },
    { email: "three@example.com" },
  ]);
  expect(many.body.map((user: { attributes: object }) => user.attributes)).toEqual([{ title: "Lead" }, {}]);
  const invalid = await tenant.client.post("/tenants/users", { email: "four@example.com", attributes: { nested: {} } });
  expect(invalid).toMatchObject({ status: 400, body: { code: "invalid_body" } });
});
