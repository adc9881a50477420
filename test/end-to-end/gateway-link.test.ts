/** The agent's end of the link against a complete server. */
import { formatLogLine } from "@gatehouse/agent-core/log";
import { generatedKeys } from "@gatehouse/agent-core/testing/generated-keys";
import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../packages/agent-core/src/clock.ts";
import { GatewayLink } from "../../packages/gateway/src/link/gateway-link.ts";
import { make, unique } from "../../packages/server/src/testing/operations/test-records.ts";
import { sharedTestServer, type TestServer } from "../../packages/server/src/testing/test-server.ts";
import { until } from "../../packages/server/src/testing/until.ts";
import { HoldingAgent } from "./holding-agent.ts";

let server: TestServer;
let url: string;
const links: GatewayLink[] = [];

beforeAll(async () => {
  server = await sharedTestServer();
  url = await server.listen();
});
afterAll(async () => {
  for (const link of links) link.stop();
});

test("an agent receives its configuration, confirms it, follows changes, and reconnects", async () => {
  const { client } = await server.newTenant();
  const made = await client.post("/tenants/gateways", { name: unique("Gateway"), wireguardPort: "51820" });
  const { id, token } = made.body;
  const resource = await make("resource", client);
  await client.must.put(`/tenants/resources/${resource.id}/gateways/${id}`);
  const policy = await client.post("/tenants/policies", {
    name: unique("Policy"),
    type: "PRIVATE",
    action: true,
    allUsers: true,
    resources: [resource.id],
  });
  expect(policy.status, policy.text).toBe(201);
  const agent = new HoldingAgent();
  const log: string[] = [];
  const link = new GatewayLink({
    url,
    token: async () => `${token}\n`,
    agent,
    state: {},
    keys: generatedKeys(),
    agentVersion: "0.1.0",
    clock: systemClock,
    log: (message, fields) => log.push(formatLogLine(message, fields)),
    random: () => 0,
  });
  links.push(link);
  link.start();
  await until("the agent has a configuration", () => agent.held !== undefined);
  // A signed configuration is not applied before its key is stored.
  expect(agent.applied).toBe(1);
  expect(Object.keys(agent.held?.content.resources ?? {})).toEqual([resource.id]);
  expect(agent.signingKey).toMatch(/^[A-Za-z0-9+/]{43}=$/);
  const status = async () => (await client.get(`/tenants/gateways/${id}`)).body.status;
  await until("it is ONLINE", async () => (await status()) === "ONLINE");

  const off = await client.patch(`/tenants/policies/${policy.body.id}/deactivate?wait=applied`);
  expect(off.headers["gatehouse-enforced"]).toMatch(/^applied;/);
  expect(agent.held?.content.resources).toEqual({});

  agent.refusal = "no such interface";
  const on = await client.post(`/tenants/policies/${policy.body.id}/reactivate?wait=applied`);
  expect(on.headers["gatehouse-not-enforced"]).toBe(`"${id}";state=failed`);
  await until("it is ERROR", async () => (await status()) === "ERROR");
  agent.refusal = undefined;

  // The token is rotated: the agent is disconnected, and reconnects with the new token.
  await client.must.post(`/tenants/gateways/${id}/rotate-token`, { graceSeconds: 0 });
  await until("the agent is notified", () => log.some((message) => message.includes("token_revoked")));
  link.stop();
});
