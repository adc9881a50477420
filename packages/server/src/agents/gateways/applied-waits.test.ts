/** Requests that wait until gateways have applied their change. */
import { describe, expect, test } from "vitest";
import { linkedReplicas } from "../../testing/linked-replicas.ts";
import { unique } from "../../testing/operations/test-records.ts";
import { until } from "../../testing/until.ts";

const replicas = linkedReplicas(2);
const { newGateway, grantAccess, isApplied, cut } = replicas;

describe("a write with ?wait=applied", () => {
  test("never reports a gateway that has not connected as enforced", async () => {
    const [never, spare] = [await newGateway(), await newGateway()];
    const grant = await grantAccess(never.id);
    const reply = await replicas.client.patch(`/tenants/policies/${grant.policyId}/deactivate?wait=applied`);
    expect(reply.headers["gatehouse-enforced"]).toMatch(/^incomplete;generation=\d+;gateways=1;missing=1$/);
    expect(reply.headers["gatehouse-not-enforced"]).toBe(`"${never.id}";state=nothing-enforced`);
    const changed = await replicas.client.put(`/tenants/gateways/${spare.id}/settings?wait=applied`, {
      resolvers: ["10.80.0.53"],
    });
    expect(changed.headers["gatehouse-not-enforced"]).toContain(spare.id);
  });

  test("does not report or wait for gateways that it does not concern", async () => {
    const [connected, never, silent, gone] = [
      await newGateway(),
      await newGateway(),
      await newGateway(),
      await newGateway(),
    ];
    const [grant, slow] = [await grantAccess(connected.id), await grantAccess(silent.id)];
    for (const { id } of [never, gone]) await grantAccess(id);
    for (const { gateway } of [connected, silent, gone]) {
      await gateway.connect();
      await until("the configuration arrives", () => Object.keys(gateway.rules).length === 1);
    }
    await cut(gone.id, gone.gateway);
    silent.gateway.verdict = () => undefined;
    await replicas.client.patch(`/tenants/policies/${slow?.policyId}/deactivate`);
    await until("the change is sent", async () => {
      const { body } = await replicas.client.get(`/tenants/gateways/${silent.id}/sync`);
      return body.state === "sent";
    });
    const reply = await replicas.client.patch(`/tenants/policies/${grant.policyId}/deactivate?wait=applied&timeout=30`);
    expect(reply.headers["gatehouse-enforced"]).toMatch(/^applied;generation=\d+;gateways=1;missing=0$/);
  });

  test("is answered when the gateways of all replicas have applied it", async () => {
    const [here, there] = [await newGateway(), await newGateway({ url: replicas.otherUrl })];
    const grants = [await grantAccess(here.id), await grantAccess(there.id)];
    for (const { gateway } of [here, there]) {
      await gateway.connect();
      await until("the configuration arrives", () => Object.keys(gateway.rules).length === 1);
    }
    for (const [index, { gateway }] of [here, there].entries()) {
      const grant = grants[index];
      const reply = await replicas.client.patch(`/tenants/policies/${grant?.policyId}/deactivate?wait=applied`);
      expect(reply.headers["gatehouse-enforced"]).toMatch(/^applied;generation=\d+;gateways=2;missing=0$/);
      expect(gateway.rules).toEqual({});
    }
    const sync = (await replicas.client.get(`/tenants/gateways/${there.id}/sync`)).body;
    expect(sync).toMatchObject({ state: "applied", lagMs: expect.any(Number) });
    // The states of the gateways are reported later, in generations that change no configuration.
    expect(sync.applied.generation).toBe(sync.wanted.generation);
    expect(sync.applied.generation).toBeLessThanOrEqual(sync.generation);
  });

  test("waits for every gateway that a change set concerns", async () => {
    const [here, there] = [await newGateway(), await newGateway({ url: replicas.otherUrl })];
    const grants = [await grantAccess(here.id), await grantAccess(there.id)];
    for (const { gateway } of [here, there]) {
      await gateway.connect();
      await until("the configuration arrives", () => Object.keys(gateway.rules).length === 1);
    }
    const changes = grants.map(({ policyId }) => ({
      method: "PATCH",
      path: `/tenants/policies/${policyId}/deactivate`,
    }));
    const reply = await replicas.client.must.post("/tenants/changes?wait=applied", { changes });
    expect(reply.headers["gatehouse-enforced"]).toMatch(/^applied;generation=\d+;gateways=2;missing=0$/);
    expect([here, there].map(({ gateway }) => gateway.rules)).toEqual([{}, {}]);
  });

  test("names the gateways that have not, and why", async () => {
    const [silent, refusing, gone, never] = [
      await newGateway(),
      await newGateway(),
      await newGateway(),
      await newGateway(),
    ];
    const grants = [await grantAccess(silent.id), await grantAccess(refusing.id), await grantAccess(gone.id)];
    for (const { id, gateway } of [silent, refusing, gone]) {
      await gateway.connect();
      await until("it is recorded", () => isApplied(id, gateway));
    }
    await cut(gone.id, gone.gateway);
    silent.gateway.verdict = () => undefined;
    refusing.gateway.verdict = () => "not_applied";
    await replicas.client.must.patch(`/tenants/policies/${grants[0]?.policyId}/deactivate`);
    const reply = await replicas.client.patch(`/tenants/policies/${grants[1]?.policyId}?wait=applied&timeout=5`, {
      resources: [grants[2]?.resourceId],
    });
    expect(reply.status).toBe(200);
    expect(reply.headers["gatehouse-enforced"]).toMatch(/^incomplete;generation=\d+;gateways=2;missing=2$/);
    const named = reply.headers["gatehouse-not-enforced"] ?? "";
    expect(named.split(", ").sort()).toEqual([`"${refusing.id}";state=failed`, `"${gone.id}";state=offline`].sort());
    // The gateway's status ERROR is a change too, which its replica still has to process.
    await expect
      .poll(async () => (await replicas.client.get(`/tenants/gateways/${refusing.id}/sync`)).body)
      .toMatchObject({ state: "failed", error: expect.stringMatching(/^not_applied/) });
    expect((await replicas.client.get(`/tenants/gateways/${never.id}/sync`)).body).toMatchObject({
      state: "nothing-enforced",
      wanted: null,
      sent: null,
      applied: null,
      lagMs: null,
    });
  });

  test.each([
    "?wait=sent",
    "?wait=applied&timeout=0",
    "?wait=applied&timeout=61",
    "?wait=applied&timeout=soon",
    "?timeout=5",
  ])("refuses %s", async (query) => {
    expect(await replicas.client.post(`/tenants/groups${query}`, { name: unique("Group") })).toMatchObject({
      status: 400,
      body: { code: "invalid_parameter" },
    });
  });
});
