/** The tokens of gateways in the answers to people (docs/decisions/0279-what-outlives-a-session.md). */
import { redactedToken } from "@gatehouse/contract/records/gateway";
import { beforeAll, expect, test } from "vitest";
import { make, makeId, unique } from "../../testing/operations/test-records.ts";
import { revertingClient } from "../../testing/reverting-client.ts";
import { ownerOf, personClient, signInAs } from "../../testing/signed-in-person.ts";
import { sharedTestServer, type TestReply, type TestServer, type TestTenant } from "../../testing/test-server.ts";

let server: TestServer;
let tenant: TestTenant;
/** The owner, who authenticated 16 minutes ago. */
let old: ReturnType<typeof personClient>;
/** The owner, who authenticated now. */
let recent: ReturnType<typeof personClient>;

beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
  const { id } = await ownerOf(tenant);
  const authTime = new Date(server.runner.clock.now().getTime() - 16 * 60_000);
  old = personClient(server, await signInAs(server, tenant.id, id, { authTime }));
  recent = personClient(server, await signInAs(server, tenant.id, id));
});

type Sends = Pick<typeof recent, "send">;
const tokens = (text: string): readonly string[] =>
  [...text.matchAll(/"token":"([^"]*)"/g)].map(([, token]) => token ?? "");

/** Requires that an answer shows the tokens of gateways, or a placeholder for each. */
function expectTokens({ status, text }: TestReply, isShown: boolean): void {
  expect(status, text).toBeLessThan(300);
  const found = tokens(text);
  expect(found.length, text).toBeGreaterThan(0);
  for (const token of found) expect(token !== redactedToken).toBe(isShown);
}

async function balancedResource(gateway: string): Promise<{ readonly id: string; readonly address: string }> {
  const { id, addresses } = await make("resource", tenant.client);
  const body = { loadBalancingMode: "MANUAL", gateways: [gateway] };
  await tenant.client.must.post(`/tenants/resources/${id}/loadBalancing`, body);
  return { id, address: addresses[0].id };
}

/** A policy that contains a gateway. */
const policyOf = (id: string) => ({ name: unique("Policy"), type: "PRIVATE", action: true, gateways: [id] });

test("reads show people tokens after a recent authentication only, and keys always", async () => {
  const gateway = await makeId("gateway", tenant.client);
  const { id, address } = await balancedResource(gateway);
  const { body: policy } = await tenant.client.must.post("/tenants/policies", policyOf(gateway));
  for (const path of [
    "/tenants/gateways",
    `/tenants/gateways/${gateway}`,
    "/tenants/resources?limit=100",
    `/tenants/resources/${id}`,
    `/tenants/addresses/${address}/gateways`,
    "/tenants/policies?limit=100",
    `/tenants/policies/${policy.id}`,
  ]) {
    // The order shows that no answer to another caller is reused.
    for (const [client, isShown] of [
      [recent, true],
      [old, false],
      [tenant.client, true],
      [recent, true],
    ] as const) {
      expectTokens(await client.get(path), isShown);
    }
  }
});

test.each<[what: string, request: (gateway: string) => readonly [path: string, body?: unknown]]>([
  ["enabling relaying", (id) => [`/tenants/gateways/${id}/enable-relay`]],
  ["maintenance", (id) => [`/tenants/gateways/${id}/enter-maintenance`]],
  ["the creation of a policy", (id) => ["/tenants/policies", policyOf(id)]],
  ["a change set", (id) => ["/tenants/changes", setOf("PUT", `/tenants/gateways/${id}`, { description: "Text" })]],
  ["a change set that creates a gateway", () => ["/tenants/changes", setOf("POST", "/tenants/gateways", gateway())]],
])("the reply to %s shows people no token, now or later", async (_, request) => {
  const [path, body] = request(await makeId("gateway", tenant.client));
  const headers = { "idempotency-key": unique("key") };
  expectTokens(await recent.send("POST", path, body, headers), false);
  const repeated = await old.send("POST", path, body, headers);
  if (repeated.status !== 401) expectTokens(repeated, false);
});

test("a change of a gateway shows people no token, and keys the token", async () => {
  const id = await makeId("gateway", tenant.client);
  const change = (client: Sends) => client.send("PUT", `/tenants/gateways/${id}`, { description: unique("Text") });
  expectTokens(await change(recent), false);
  expectTokens(await change(old), false);
  expectTokens(await change(tenant.client), true);
});

test("creating a gateway and rotating its token show the token, and ask again before they repeat the reply", async () => {
  const id = await makeId("gateway", tenant.client);
  for (const [path, body] of [
    ["/tenants/gateways", gateway()],
    [`/tenants/gateways/${id}/rotate-token`, undefined],
  ] as const) {
    const headers = { "idempotency-key": unique("key") };
    const first = await recent.send("POST", path, body, headers);
    expectTokens(first, true);
    expect((await recent.send("POST", path, body, headers)).text).toBe(first.text);
    const asked = await old.send("POST", path, body, headers);
    expect([asked.status, asked.body.code]).toEqual([401, "recent_authentication_required"]);
  }
});

test("a revert that brings a gateway back shows people no token, now or later", async () => {
  const id = await makeId("gateway", tenant.client);
  await tenant.client.must.delete(`/tenants/gateways/${id}`);
  const event = await revertingClient(tenant.client).lastEvent(id);
  const headers = { "idempotency-key": unique("key") };
  const revert = (client: Sends) => client.send("POST", `/tenants/events/${event}/revert`, undefined, headers);
  const first = await revert(recent);
  expectTokens(first, false);
  expect((await revert(old)).text).toBe(first.text);
});

const gateway = () => ({ name: unique("Gateway"), wireguardPort: "51820" });
const setOf = (method: string, path: string, body: object) => ({ changes: [{ method, path, body }] });
