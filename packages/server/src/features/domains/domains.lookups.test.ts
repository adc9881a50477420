/** Lookups of DNS that never end, or end late. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";

let server: TestServer;
/** The lookups that wait for an answer of DNS. */
const lookups: { readonly name: string; readonly answer: (values: readonly string[]) => void }[] = [];

beforeAll(async () => {
  const resolveTxt = (name: string) =>
    new Promise<readonly string[]>((answer) => {
      lookups.push({ name, answer });
    });
  server = await startTestServer({ settings: { resolveTxt, trustedProxies: ["127.0.0.1"] } });
});
afterAll(() => server.close());

async function added({ client }: TestTenant, label: string) {
  const domain = `${label}-${process.pid}-${Date.now()}.example.com`;
  return (await client.must.post("/tenants/domains", { domain })).body;
}

test("requests that wait for DNS share one lookup, are few per tenant, and leave slots for other tenants", async () => {
  const tenant = await server.newTenant();
  const domain = await added(tenant, "slow");
  const path = `/tenants/domains/${domain.id}/verify`;
  const refused: { readonly status: number; readonly body: { readonly code: string } }[] = [];
  const replies = Array.from({ length: 20 }, async () => {
    const reply = await tenant.client.post(path);
    if (reply.status === 429) refused.push(reply);
    return reply;
  });
  await until("requests are refused", () => refused.length === 12);
  expect(refused.map(({ body }) => body.code)).toEqual(Array(12).fill("rate_limited"));
  expect(lookups.map(({ name }) => name)).toEqual([domain.recordName]);

  const other = await server.newTenant();
  const otherDomain = await added(other, "other");
  const verified = other.client.must.post(`/tenants/domains/${otherDomain.id}/verify`);
  await until("the other tenant's lookup has started", () => lookups.length === 2);
  lookups[1]?.answer([otherDomain.recordValue]);
  expect((await verified).body.verifiedAt).toEqual(expect.any(String));

  lookups[0]?.answer([]);
  const statuses = (await Promise.all(replies)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 409)).toHaveLength(8);
  // Each request after the end of a lookup asks again.
  const again = tenant.client.post(path);
  await until("another lookup has started", () => lookups.length === 3);
  lookups[2]?.answer([]);
  expect((await again).body.code).toBe("domain_not_proven");
});

test("all addresses of an IPv6 client together get half of the slots", async () => {
  const tenant = await server.newTenant();
  const domain = await added(tenant, "addresses");
  const refused: number[] = [];
  const lookup = lookups.length;
  const replies = Array.from({ length: 20 }, async (_, index) => {
    const from = { "x-forwarded-for": `2001:db8::${index + 1}` };
    const { status } = await tenant.client.post(`/tenants/domains/${domain.id}/verify`, undefined, from);
    if (status === 429) refused.push(status);
    return status;
  });
  await until("requests are refused", () => refused.length === 12);
  lookups[lookup]?.answer([]);
  expect((await Promise.all(replies)).filter((status) => status === 409)).toHaveLength(8);
});
