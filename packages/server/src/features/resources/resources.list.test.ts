import { beforeAll, describe, expect, test } from "vitest";
import { makeId, unique } from "../../testing/operations/test-records.ts";
import { sharedTestServer, type TestClient, type TestReply, type TestServer } from "../../testing/test-server.ts";

let server: TestServer;
let client: TestClient;
/** Ids by name, in order of creation. */
const ids = new Map<string, string>();
const gateways: string[] = [];
let protocol: string;
let policy: string;

/** Sorted regardless of letter case, ties by id, which is the order of creation. */
const byName = ["10% off", "alpha", "Alpha", "ALPHA", "beta_one", "betaXone", "Émile", "émile zola"];
const creation = ["betaXone", "alpha", "émile zola", "Alpha", "10% off", "ALPHA", "beta_one", "Émile"];
const types: Readonly<Record<string, string>> = { alpha: "SAAS", Alpha: "SAAS", "10% off": "INTERNET" };

beforeAll(async () => {
  server = await sharedTestServer();
  client = (await server.newTenant()).client;
  protocol = await makeId("protocol", client);
  for (let count = 0; count < 2; count += 1) gateways.push(await makeId("gateway", client));
  for (const name of creation) {
    const { body } = await client.post("/tenants/resources", {
      name,
      type: types[name] ?? "PRIVATE",
      addresses: name.startsWith("beta") ? [{ address: "10.0.0.1", protocols: [protocol] }] : [],
    });
    ids.set(name, body.id);
  }
  await connect("alpha", [gateways[0]]);
  await connect("Alpha", [gateways[1], gateways[0]]);
  await connect("beta_one", [gateways[1]]);
  const fields = { name: unique("Policy"), type: "PRIVATE", action: true, resources: [ids.get("ALPHA")] };
  policy = (await client.post("/tenants/policies", fields)).body.id;
});

async function connect(name: string, gatewayIds: readonly unknown[]): Promise<void> {
  const body = { loadBalancingMode: "MANUAL", gateways: gatewayIds };
  expect((await client.post(`/tenants/resources/${ids.get(name)}/loadBalancing`, body)).status).toBe(204);
}

function list(parameters: Readonly<Record<string, string>> = {}): Promise<TestReply> {
  return client.get(`/tenants/resources?${new URLSearchParams(parameters)}`);
}

async function namesOf(parameters: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const { status, body, text } = await list(parameters);
  expect(status, text).toBe(200);
  expect(body.total).toBe(body.data.length);
  return body.data.map(({ name }: { name: string }) => name);
}

describe("the list of resources", () => {
  test("is empty in a new tenant", async () => {
    const { client: own } = await server.newTenant();
    const { body } = await own.get("/tenants/resources");
    expect(body).toEqual({ data: [], total: 0, page: 0, limit: 10, hasNext: false, hasPrevious: false });
  });

  test("shows whole records in order of creation, with a weak ETag", async () => {
    const { body, headers } = await list();
    expect(body.data.map(({ name }: { name: string }) => name)).toEqual(creation);
    expect(body.data[1]).toEqual((await client.get(`/tenants/resources/${ids.get("alpha")}`)).body);
    expect(headers.etag).toMatch(/^W\//);
  });
});

describe("paging", () => {
  test.each([
    [{}, { page: 0, limit: 10, hasNext: false, hasPrevious: false }],
    [{ limit: "3" }, { page: 0, limit: 3, hasNext: true, hasPrevious: false }],
    [
      { limit: "3", offset: "3" },
      { page: 1, limit: 3, hasNext: true, hasPrevious: true },
    ],
    [
      { limit: "3", offset: "4" },
      { page: 1, limit: 3, hasNext: true, hasPrevious: true },
    ],
    [
      { limit: "3", offset: "5" },
      { page: 1, limit: 3, hasNext: false, hasPrevious: true },
    ],
    [
      { limit: "3", offset: "6" },
      { page: 2, limit: 3, hasNext: false, hasPrevious: true },
    ],
    [
      { limit: "3", offset: "8" },
      { page: 2, limit: 3, hasNext: false, hasPrevious: true },
    ],
    [
      { limit: "3", offset: "1000000" },
      { page: 333_333, limit: 3, hasNext: false, hasPrevious: true },
    ],
    [{ limit: "8" }, { page: 0, limit: 8, hasNext: false, hasPrevious: false }],
    [{ limit: "100" }, { page: 0, limit: 100, hasNext: false, hasPrevious: false }],
    [{ limit: "101" }, { page: 0, limit: 100, hasNext: false, hasPrevious: false }],
    [{ limit: "1000000" }, { page: 0, limit: 100, hasNext: false, hasPrevious: false }],
  ])("by %j answers %j", async (parameters, expected) => {
    const { body } = await list(parameters);
    const { data, ...wrapper } = body;
    expect(wrapper).toEqual({ ...expected, total: 8 });
    const offset = Number("offset" in parameters ? parameters.offset : 0);
    const names = creation.slice(offset, offset + expected.limit);
    expect(data.map(({ name }: { name: string }) => name)).toEqual(names);
    const renamed = Object.entries(parameters).map(([name, value]) => [`page[${name}]`, value]);
    expect((await list(Object.fromEntries(renamed))).body).toEqual(body);
  });

  test("accepts equal and mixed spellings of a parameter", async () => {
    const agreed = await list({ limit: "3", "page[limit]": "3", "page[offset]": "2" });
    expect(agreed.body).toMatchObject({ limit: 3, page: 0, hasPrevious: true });
    for (const parameters of [
      { limit: "3", "page[limit]": "4" },
      { offset: "3", "page[offset]": "0" },
    ]) {
      expect(await list(parameters)).toMatchObject({ status: 400, body: { code: "invalid_parameter" } });
    }
  });

  test.each([
    { limit: "0" },
    { limit: "-1" },
    { limit: "ten" },
    { limit: "" },
    { limit: "1.5" },
    { "page[limit]": "0" },
    { offset: "-1" },
    { "page[offset]": "x" },
    { offset: "99999999999999" },
    { "page[size]": "10" },
    { page: "-1" },
    { page: "2", limit: "3", offset: "3" },
  ])("refuses %j", async (parameters) => {
    const reply = await list(parameters as Record<string, string>); // each of them is one
    expect(reply).toMatchObject({ status: 400, body: { code: "invalid_parameter" } });
  });
});

describe("sorting", () => {
  const reversed = ["émile zola", "Émile", "betaXone", "beta_one", "alpha", "Alpha", "ALPHA", "10% off"];
  test.each([
    ["name", byName],
    ["name:asc", byName],
    ["-name", reversed],
    ["name:desc", reversed],
    ["name,id", byName],
    ["name:asc,-id", ["10% off", "ALPHA", "Alpha", "alpha", ...byName.slice(4)]],
    ["id", creation],
    ["-id", [...creation].reverse()],
    ["id,name", creation],
  ])("by %s", async (sort, names) => {
    expect(await namesOf({ sort })).toEqual(names);
  });

  test("accepts the parameter several times", async () => {
    const { body } = await client.get("/tenants/resources?sort=-name&sort=-id");
    const names = body.data.map(({ name }: { name: string }) => name);
    expect(names).toEqual([...reversed.slice(0, 4), "ALPHA", "Alpha", "alpha", "10% off"]);
  });

  test("has pages that never overlap, even with ties", async () => {
    for (const sort of ["name", "-name"]) {
      const pages = await Promise.all(
        Array.from({ length: 4 }, (_, index) => list({ sort, limit: "2", offset: String(2 * index) })),
      );
      const names = pages.flatMap(({ body }) => body.data.map(({ name }: { name: string }) => name));
      expect(names).toEqual(sort === "name" ? byName : reversed);
    }
  });

  test.each(["type", "createdAt", "", "name:up", "-name:desc", "name;id", "Name"])("refuses sort=%j", async (sort) => {
    const reply = await list({ sort });
    expect(reply).toMatchObject({ status: 400, body: { code: "invalid_parameter", errors: [{ pointer: "sort" }] } });
  });

  test("lists the sortable fields in a refusal", async () => {
    expect((await list({ sort: "status" })).body.detail).toContain("id, name");
  });
});

describe("filters", () => {
  const all = byName;
  const withoutNamed = (...names: string[]) => all.filter((name) => !names.includes(name));
  const cases: readonly [Readonly<Record<string, string>>, readonly string[]][] = [
    [{ "filter[name]": "Alpha" }, ["Alpha"]],
    [{ "filter[name][eq]": "alpha" }, ["alpha"]],
    [{ "filter[name]": "alph" }, []],
    [{ "filter[name][ne]": "alpha" }, withoutNamed("alpha")],
    [{ "filter[name][ilike]": "alpha" }, ["alpha", "Alpha", "ALPHA"]],
    [{ "filter[name][ilike]": "%M%" }, ["Émile", "émile zola"]],
    [{ "filter[name][ilike]": "É%" }, ["Émile", "émile zola"]],
    // Only % is special.
    [{ "filter[name][ilike]": "beta_one" }, ["beta_one"]],
    [{ "filter[name][ilike]": "%\\%" }, []],
    [{ "filter[name][ilike]": "" }, []],
    [{ "filter[name][gt]": "ALPHA" }, ["beta_one", "betaXone", "Émile", "émile zola"]],
    [{ "filter[name][gte]": "ALPHA" }, withoutNamed("10% off")],
    [{ "filter[name][lt]": "Alpha" }, ["10% off"]],
    [{ "filter[name][lte]": "Alpha" }, ["10% off", "alpha", "Alpha", "ALPHA"]],
    [{ "filter[name][in]": "alpha,Émile,nobody" }, ["alpha", "Émile"]],
    [{ "filter[name][nin]": "alpha,Émile,nobody" }, withoutNamed("alpha", "Émile")],
    [{ "filter[type]": "SAAS" }, ["alpha", "Alpha"]],
    [{ "filter[type][ne]": "SAAS" }, withoutNamed("alpha", "Alpha")],
    [{ "filter[type][in]": "SAAS,INTERNET,SAAS" }, ["10% off", "alpha", "Alpha"]],
    [{ "filter[type][nin]": "SAAS,INTERNET" }, withoutNamed("10% off", "alpha", "Alpha")],
    [{ "filter[type][gt]": "PRIVATE" }, ["alpha", "Alpha"]],
    [{ "filter[type][lte]": "INTERNET" }, ["10% off"]],
    [{ "filter[type][ilike]": "s%" }, ["alpha", "Alpha"]],
    [{ "filter[type]": "SAAS", "filter[type][ne]": "SAAS" }, []],
    [{ "filter[type]": "SAAS", "filter[name]": "Alpha" }, ["Alpha"]],
  ];
  test.each(cases)("%j", async (filters, names) => {
    expect(await namesOf({ sort: "name", ...filters })).toEqual(names);
  });

  test("by id, in every operator that ids have", async () => {
    const id = (name: string) => ids.get(name) ?? "";
    expect(await namesOf({ "filter[id]": id("Alpha") })).toEqual(["Alpha"]);
    expect(await namesOf({ "filter[id]": id("Alpha").toUpperCase() })).toEqual(["Alpha"]);
    expect(await namesOf({ "filter[id][ne]": id("Alpha") })).toEqual(creation.filter((name) => name !== "Alpha"));
    expect(await namesOf({ "filter[id][gt]": id("Alpha") })).toEqual(creation.slice(4));
    expect(await namesOf({ "filter[id][gte]": id("Alpha") })).toEqual(creation.slice(3));
    expect(await namesOf({ "filter[id][lt]": id("Alpha") })).toEqual(creation.slice(0, 3));
    expect(await namesOf({ "filter[id][lte]": id("Alpha") })).toEqual(creation.slice(0, 4));
    const some = `${id("alpha")},${id("Émile")}`;
    expect(await namesOf({ "filter[id][in]": some })).toEqual(["alpha", "Émile"]);
    expect(await namesOf({ "filter[id][nin]": some })).toHaveLength(6);
  });

  test("filters by any of a resource's gateways", async () => {
    const [one = "", two = ""] = gateways;
    expect(await namesOf({ "filter[gateways.id]": one })).toEqual(["alpha", "Alpha"]);
    expect(await namesOf({ "filter[gateways.id][in]": `${one},${two}` })).toEqual(["alpha", "Alpha", "beta_one"]);
    expect(await namesOf({ "filter[gateways.id][gt]": one })).toEqual(["Alpha", "beta_one"]);
    // Resources without any gateway also match a negated filter.
    const withoutTwo = creation.filter((name) => name !== "Alpha" && name !== "beta_one");
    expect(await namesOf({ "filter[gateways.id][ne]": two })).toEqual(withoutTwo);
    expect(await namesOf({ "filter[gateways.id][nin]": `${one},${two}` })).toHaveLength(5);
  });

  test("by the protocols of addresses, and by policies", async () => {
    expect(await namesOf({ "filter[addresses.protocols.id]": protocol })).toEqual(["betaXone", "beta_one"]);
    expect(await namesOf({ "filter[addresses.protocols.id][ne]": protocol })).toHaveLength(6);
    expect(await namesOf({ "filter[policies.id]": policy })).toEqual(["ALPHA"]);
    expect(await namesOf({ "filter[policies.id][nin]": policy })).toHaveLength(7);
  });

  test("by an address", async () => {
    const { body } = await client.get("/tenants/resources?filter[name]=beta_one");
    const [{ id }] = body.data[0].addresses;
    expect(await namesOf({ "filter[addresses.id]": id })).toEqual(["beta_one"]);
    expect(await namesOf({ "filter[addresses.id][ne]": id })).toHaveLength(7);
  });

  test("find nothing by another tenant's ids", async () => {
    const other = await server.newTenant();
    const [{ id }] = (await client.get("/tenants/resources?filter[name]=beta_one")).body.data[0].addresses;
    for (const filter of [`filter[gateways.id]=${gateways[0]}`, `filter[addresses.id]=${id}`]) {
      const { body } = await other.client.get(`/tenants/resources?${filter}`);
      expect(body).toMatchObject({ total: 0, data: [] });
    }
  });

  test.each([
    { "filter[status]": "ONLINE" },
    { "filter[name][like]": "x" },
    { "filter[id][ilike]": "%" },
    { "filter[id]": "7" },
    { "filter[id][in]": "7" },
    { "filter[gateways.id]": "" },
    { "filter[type]": "private" },
    { "filter[type][in]": "SAAS,ALL" },
    { "filter[]": "x" },
    { "filter[name": "x" },
    { "filter[name][eq][ne]": "x" },
    { filter: "x" },
    { "filter[__proto__]": "x" },
    { "filter[constructor]": "x" },
    { "filter[name]": "a\u0000b" },
    { search: "x" },
  ])("refuses %j", async (parameters) => {
    const reply = await list(parameters as unknown as Record<string, string>); // each of them is one
    expect(reply).toMatchObject({ status: 400, body: { code: "invalid_parameter" } });
  });

  test("accepts at most 100 values", async () => {
    const values = (count: number) => Array.from({ length: count }, (_, index) => `name ${index}`).join(",");
    expect((await list({ "filter[name][in]": values(100) })).status).toBe(200);
    expect((await list({ "filter[name][in]": values(101) })).status).toBe(400);
  });
});

test("totals stay exact while resources come and go", async () => {
  const { client: own } = await server.newTenant();
  const made: string[] = [];
  for (const type of ["PRIVATE", "SAAS", "SAAS", "INTERNET"]) {
    const { body } = await own.post("/tenants/resources", { name: unique(type), type, addresses: [] });
    made.push(body.id);
  }
  const totals = async () => {
    const queries = ["", "?filter[type]=SAAS", "?filter[type][in]=SAAS,PRIVATE", "?filter[type][ne]=SAAS"];
    const replies = await Promise.all(queries.map((query) => own.get(`/tenants/resources${query}`)));
    return replies.map(({ body }) => body.total);
  };
  expect(await totals()).toEqual([4, 2, 3, 2]);
  await own.must.delete(`/tenants/resources/${made[1]}`);
  expect(await totals()).toEqual([3, 1, 2, 2]);
  const addresses = [{ address: "", protocols: [] }];
  expect((await own.post("/tenants/resources", { name: unique("x"), type: "SAAS", addresses })).status).toBe(400);
  expect(await totals()).toEqual([3, 1, 2, 2]);
});

describe("paging after a record", () => {
  const after = (name: string) => ({ "page[after]": ids.get(name) ?? "" });

  test.each([
    [{ sort: "name" }, "alpha", byName.slice(2)],
    [{ sort: "-name" }, "betaXone", ["beta_one", "alpha", "Alpha", "ALPHA", "10% off"]],
    [{}, "ALPHA", ["beta_one", "Émile"]],
    [{ sort: "name" }, "émile zola", []],
    // The record itself need not match: it may have been changed since its page was read.
    [{ sort: "name", "filter[type]": "SAAS" }, "10% off", ["alpha", "Alpha"]],
  ])("%j after %s", async (parameters, name, expected) => {
    const { status, body, text } = await list({ ...parameters, ...after(name) });
    expect(status, text).toBe(200);
    expect(body.data.map((record: { name: string }) => record.name)).toEqual(expected);
    expect(body).toMatchObject({ page: 0, hasNext: false, hasPrevious: true });
  });

  test("reads every record once, while others are created and deleted", async () => {
    const { client: own } = await server.newTenant();
    const create = async (name: string): Promise<string> =>
      (await own.post("/tenants/resources", { name, type: "PRIVATE", addresses: [] })).body.id;
    for (const name of ["b", "d", "f", "h"]) await create(name);
    const early = await create("a");
    const seen: string[] = [];
    let cursor: Record<string, string> = {};
    for (;;) {
      const parameters = new URLSearchParams({ sort: "name", limit: "2", ...cursor });
      const { body } = await own.get(`/tenants/resources?${parameters}`);
      for (const record of body.data) seen.push(record.name);
      if (!body.hasNext) break;
      cursor = { "page[after]": body.data.at(-1).id };
      if (seen.length === 2) {
        await own.must.delete(`/tenants/resources/${early}`);
        await create("0");
        await create("e");
      }
    }
    expect(seen).toEqual(["a", "b", "d", "e", "f", "h"]);
  });

  test("of another tenant, or that was deleted, is refused in the same way", async () => {
    const { client: own } = await server.newTenant();
    const foreign = await makeId("resource", own);
    const deleted = await makeId("resource", client);
    await client.must.delete(`/tenants/resources/${deleted}`);
    for (const id of [foreign, deleted]) {
      const { status, body } = await list({ "page[after]": id });
      expect(status).toBe(400);
      expect(body).toMatchObject({ code: "invalid_parameter", errors: [{ pointer: "page[after]" }] });
      expect(body.detail).toContain("start with the first page");
    }
  });
});
