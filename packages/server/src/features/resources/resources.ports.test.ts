/** The limit of the ports of a resource. A protocol with 100 ports at 100 addresses reaches it. */
import type { Protocol } from "@gatehouse/contract/records/protocol";
import type { Resource } from "@gatehouse/contract/records/resource";
import { beforeEach, describe, expect, test } from "vitest";
import { configurationCalls } from "../../testing/example-configuration.ts";
import { storePorts } from "../../testing/network-rows.queries.ts";
import { revertingClient } from "../../testing/reverting-client.ts";
import {
  sharedTestServer,
  type TestClient,
  type TestReply,
  type TestServer,
  type TestTenant,
} from "../../testing/test-server.ts";

let server: TestServer;
let tenant: TestTenant;
let client: TestClient;
/** A protocol with 100 ports, and one with one port. */
let many: Protocol;
let one: Protocol;

const ports = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ protocol: "TCP", port: `${1 + index}` }));

beforeEach(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
  client = tenant.client;
  [many, one] = await Promise.all([makeProtocol("Many", 100), makeProtocol("One", 1)]);
});

async function makeProtocol(name: string, count: number): Promise<Protocol> {
  return (await client.must.post("/tenants/protocols", { name, networkProtocols: ports(count) })).body;
}

const resourceBody = (count: number, protocols: readonly Protocol[] = [many]) => ({
  name: "Large",
  type: "PRIVATE",
  addresses: Array.from({ length: count }, (_, index) => ({
    address: `host-${index}`,
    protocols: protocols.map(idOf),
  })),
});
const idOf = ({ id }: { readonly id: string }) => id;
const full = async (): Promise<Resource> => (await client.must.post("/tenants/resources", resourceBody(100))).body;
const add = (id: string, ...protocols: Protocol[]) =>
  client.post(`/tenants/resources/${id}/addresses`, { address: "more", protocols: protocols.map(idOf) });
const change = (address: Resource["addresses"][number] | undefined, ...protocols: Protocol[]) =>
  client.put(`/tenants/addresses/${address?.id}`, { address: address?.address, protocols: protocols.map(idOf) });

function expectRefusal(reply: TestReply, pointer: string, count = "10,001"): void {
  expect(reply, reply.text).toMatchObject({ status: 422, body: { code: "too_many_ports", errors: [{ pointer }] } });
  expect(reply.body.detail).toContain(`would list ${count} ports and ranges; the limit is 10,000`);
}

describe("a resource with too many ports is refused", () => {
  test("by creating it", async () => {
    expectRefusal(await client.post("/tenants/resources", resourceBody(101)), "/addresses", "10,100");
    expect((await full()).addresses).toHaveLength(100);
  });

  test("by adding an address", async () => {
    const { id } = await full();
    expectRefusal(await add(id, one), "/protocols");
    expect((await add(id)).status).toBe(201);
  });

  test("by changing an address, unless another one has become smaller", async () => {
    const [first, second] = (await full()).addresses;
    expectRefusal(await change(first, many, one), "/protocols");
    expect((await change(second)).status).toBe(200);
    expect((await change(first, many, one)).status).toBe(200);
    expectRefusal(await change(second, many), "/protocols");
  });

  test("by changing two addresses at once", async () => {
    const { addresses } = await full();
    const free = addresses.slice(0, 4);
    for (const address of free) await change(address);
    await change(free[0], many);
    await change(free[1], many);
    const another = await makeProtocol("More", 100);
    const replies = await Promise.all(free.map((address) => change(address, many, another)));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 200, 422, 422]);
  });

  test("by a change set, and by its preview", async () => {
    const changes = [
      { method: "POST", path: "/tenants/resources", body: resourceBody(100), as: "large" },
      { method: "POST", path: "/tenants/resources/@large/addresses", body: { address: "more", protocols: [one.id] } },
    ];
    const reply = await client.post("/tenants/changes", { changes });
    expect(reply).toMatchObject({ status: 422, body: { code: "too_many_ports" } });
    expect(reply.body.errors).toContainEqual(expect.objectContaining({ pointer: "/changes/1/body/protocols" }));
    const preview = await client.post("/tenants/policies/preview", { changes });
    expect(preview).toMatchObject({ status: 422, body: { code: "too_many_ports" } });
  });

  test("by the revert of a removed address", async () => {
    const { id, addresses } = await full();
    await client.must.delete(`/tenants/resources/${id}/addresses/${addresses[0]?.id}`);
    const { lastEvent, revert } = revertingClient(client);
    const removal = await lastEvent(id);
    expect((await add(id, one)).status).toBe(201);
    expect(await revert(removal)).toMatchObject({ status: 422, body: { code: "too_many_ports" } });
  });
});

describe("a configuration", () => {
  const applied = async (document: object) => {
    const calls = configurationCalls(client);
    const [planned, reply] = [await calls.plan(document), await calls.apply(document)];
    expect(planned.body.errors).toEqual(reply.body.errors);
    return reply;
  };
  const section = (count: number, name = "Many") => [
    {
      name: "Large",
      type: "PRIVATE",
      addresses: Array.from({ length: count }, (_, index) => ({ address: `host-${index}`, protocols: [name] })),
    },
  ];
  const refusal = (pointer: string) => ({
    status: 422,
    body: {
      code: "invalid_configuration",
      errors: [
        { pointer, message: expect.stringContaining("would list 10,100 ports and ranges; the limit is 10,000") },
      ],
    },
  });

  test("is refused for a resource with too many ports", async () => {
    expect(await applied({ version: 1, resources: section(101) })).toMatchObject(refusal("/resources/0/addresses"));
    expect((await applied({ version: 1, resources: section(100) })).status).toBe(200);
  });

  test("is refused for a protocol with more ports, in a document without the resource that uses it", async () => {
    await client.must.post("/tenants/resources", resourceBody(101, [one]));
    const protocols = (count: number) => [
      { name: "Many", networkProtocols: ports(100) },
      { name: "One", networkProtocols: ports(count) },
    ];
    const pointer = "/protocols/1";
    expect(await applied({ version: 1, protocols: protocols(100) })).toMatchObject(refusal(pointer));
    expect((await applied({ version: 1, protocols: protocols(99) })).status).toBe(200);
  });
});

test("a resource that has more ports stays usable, and can get fewer", async () => {
  const { id, addresses } = (await client.must.post("/tenants/resources", resourceBody(200, [one]))).body;
  await storePorts(server, tenant.id, one.id, ports(100));
  const at = `/tenants/resources/${id}`;
  expect((await client.must.get(at)).body.addresses[0].protocols[0].networkProtocols).toHaveLength(100);
  expect((await client.patch(at, { name: "Renamed" })).status).toBe(204);
  expectRefusal(await change(addresses[0], one, many), "/protocols", "20,100");
  expect((await change(addresses[0], many)).status).toBe(200);
  expect((await change(addresses[0])).status).toBe(200);
  expect((await add(id)).status).toBe(201);

  const calls = configurationCalls(client);
  const { resources, ...rest } = await calls.exported();
  const [{ addresses: entries, ...resource }] = resources;
  const resized = (list: readonly object[]) => calls.apply({ ...rest, resources: [{ ...resource, addresses: list }] });
  expect((await resized(entries)).status).toBe(200);
  const fewer = entries.filter(({ address }: { readonly address: string }) => address !== "host-9");
  expect((await resized(fewer)).status).toBe(200);
  expect((await resized(entries)).body).toMatchObject({ code: "invalid_configuration" });
});
