import { unusedHash } from "@gatehouse/agent-protocol/link/envelope";
import { describe, expect, test } from "vitest";
import { claimWithoutGreeting } from "../../testing/link-rows.queries.ts";
import { linkedReplicas } from "../../testing/linked-replicas.ts";
import { unique } from "../../testing/operations/test-records.ts";
import type { SimulatedGateway } from "../../testing/simulated-gateway.ts";
import { until } from "../../testing/until.ts";

const replicas = linkedReplicas();
const { newGateway, grantAccess, rowOf, isApplied, cut } = replicas;

function enforcedBy({ name, envelope }: SimulatedGateway) {
  if (name === undefined || envelope === undefined) throw new Error("The gateway enforces nothing.");
  return { ...name, root: envelope.header.root, expiresAt: envelope.header.expiresAt };
}

/** The report of a gateway whose configuration has expired. */
const expired = (gateway: SimulatedGateway) => ({ ...enforcedBy(gateway), root: unusedHash, expiresAt: 0 });

describe("while a gateway is not connected and enforces its last configuration", () => {
  /** A gateway with a policy and a resource, which then has no link. */
  async function lostGateway() {
    const { id, gateway } = await newGateway();
    const grant = await grantAccess(id);
    await gateway.connect();
    await until("it is recorded", () => isApplied(id, gateway));
    await cut(id, gateway);
    return { id, ...grant };
  }

  const configuration = async () => (await replicas.client.must.get("/tenants/configuration")).body;
  const entriesOf = async () => (await configuration()).policies.PRIVATE as { readonly name: string }[];
  const policiesChanged = async (change: (policy: { readonly name: string }) => object) => ({
    policies: { PRIVATE: (await entriesOf()).map(change) },
  });
  const otherGroup = async () => {
    const name = unique("Group");
    await replicas.client.must.post("/tenants/groups", { name });
    return name;
  };

  test.each<[what: string, document: () => Promise<object>]>([
    ["policies become inactive", () => policiesChanged((policy) => ({ ...policy, active: false }))],
    [
      "policies name another group",
      async () => {
        const groups = [await otherGroup()];
        return policiesChanged(({ name }) => ({ name, action: true, groups, resources: [] }));
      },
    ],
    ["all policies are removed", async () => ({ policies: { PRIVATE: [] } })],
    [
      "a resource loses its gateway",
      async () => ({
        resources: (await configuration()).resources.map((resource: object) => ({ ...resource, gateways: [] })),
      }),
    ],
  ])("a document by which %s is incomplete", async (_, document) => {
    const { id } = await lostGateway();
    const applied = { version: 1, ...(await document()) };
    const reply = await replicas.client.must.post("/tenants/configuration/apply?wait=applied", applied);
    expect(reply.headers["gatehouse-not-enforced"]).toBe(`"${id}";state=offline`);
  });

  test("a new order of policies is incomplete", async () => {
    const { id, policyId } = await lostGateway();
    const deny = { name: unique("Policy"), type: "PRIVATE", action: false, allUsers: true, allResources: true };
    const denial = (await replicas.client.must.post("/tenants/policies", deny)).body.id;
    const order = { type: "PRIVATE", policies: [denial, policyId] };
    const listed = (await replicas.client.must.get("/tenants/policies?filter[type]=PRIVATE&sort=order")).body.data;
    if (listed[0].id === denial) order.policies.reverse();
    const reply = await replicas.client.must.post("/tenants/policies/reorder?wait=applied", order);
    expect(reply.headers["gatehouse-not-enforced"]).toBe(`"${id}";state=offline`);
  });

  test("a general change is incomplete, even if the gateway has lost its resources since", async () => {
    const { id, resourceId } = await lostGateway();
    await replicas.client.must.delete(`/tenants/resources/${resourceId}/gateways/${id}`);
    const reply = await replicas.client.must.post("/tenants/groups?wait=applied", { name: unique("Group") });
    const { headers } = await replicas.client.must.put(`/tenants/groups/${reply.body.id}?wait=applied`, {
      name: unique("Group"),
    });
    expect(headers["gatehouse-not-enforced"]).toBe(`"${id}";state=offline`);
  });
});

describe("while a gateway returns to a replica", () => {
  /**
   * The state after a replica has taken a link, and before it has compared what is desired with what is enforced.
   *
   * @param isBehind whether the gateway had not applied the content that was desired before
   */
  async function returning(isBehind: boolean) {
    const { id, gateway } = await newGateway();
    const { policyId } = await grantAccess(id);
    await gateway.connect();
    await until("it is recorded", () => isApplied(id, gateway));
    if (isBehind) {
      gateway.verdict = () => undefined;
      const before = gateway.seen.differences;
      await replicas.client.must.patch(`/tenants/policies/${policyId}/deactivate`);
      await until("another one is wanted", () => gateway.seen.differences > before);
      await until("it is recorded", async () => {
        const row = await rowOf(id);
        return row?.wanted_root !== row?.applied_root;
      });
    }
    await cut(id, gateway);
    await claimWithoutGreeting(replicas.server, replicas.tenant.id, id, enforcedBy(gateway));
    return { id, policyId };
  }

  test.each([
    ["had applied", false],
    ["had not applied", true],
  ])("a previously desired configuration proves nothing if the gateway %s it", async (_, isBehind) => {
    const { id } = await returning(isBehind);
    const name = unique("Group");
    const { body } = await replicas.client.must.post("/tenants/groups", { name });
    const reply = await replicas.client.must.delete(`/tenants/groups/${body.id}?wait=applied&timeout=1`);
    expect(reply.headers["gatehouse-not-enforced"]).toBe(`"${id}";state=pending`);
  });

  test.each([
    ["lost it", () => null],
    ["reports that it has expired", expired],
  ])("what a gateway enforced earlier does not count if it %s", async (_, enforces) => {
    const { id, gateway } = await newGateway();
    await grantAccess(id);
    await gateway.connect();
    await until("it is recorded", () => isApplied(id, gateway));
    await cut(id, gateway);
    gateway.verdict = () => undefined;
    const { wholes } = gateway.seen;
    await gateway.connect({ enforces: enforces(gateway) });
    await until("the configuration is sent again", () => gateway.seen.wholes > wholes);
    await expect
      .poll(async () => (await replicas.client.get(`/tenants/gateways/${id}/sync`)).body)
      .toMatchObject({ state: "sent", applied: null });
  });
});

test("counts a gateway that has not applied an earlier general change", async () => {
  const { id, gateway } = await newGateway();
  const { policyId } = await grantAccess(id);
  await gateway.connect();
  await until("it is recorded", () => isApplied(id, gateway));
  gateway.verdict = () => undefined;
  await replicas.client.must.patch(`/tenants/policies/${policyId}/deactivate`);
  const { body } = await replicas.client.must.post("/tenants/groups", { name: unique("Group") });
  const reply = await replicas.client.must.delete(`/tenants/groups/${body.id}?wait=applied&timeout=1`);
  expect(reply.headers["gatehouse-not-enforced"]).toBe(`"${id}";state=sent`);
});
