import * as rules from "@gatehouse/contract/operations/admission-rules.operations";
import * as policies from "@gatehouse/contract/operations/policies.operations";
import type { TestClient } from "../test-server.ts";
import { type Actors, nothing, type OperationCase } from "./operation-case.ts";
import { make, makeId, type RecordNoun, unique } from "./test-records.ts";

const existing =
  (noun: RecordNoun) =>
  async ({ tenant }: Actors) => ({ parameters: { id: await makeId(noun, tenant.client) } });

async function builtInRule({ tenant }: Actors) {
  const { body } = await tenant.client.get("/tenants/admission-rules");
  return { parameters: { id: String(body.find(({ type }: { type: string }) => type === "ALLOW").id) } };
}

async function defaultPolicy({ tenant }: Actors) {
  const { body } = await tenant.client.get("/tenants/policies?filter[type]=INTERNET&sort=-order&limit=1");
  return { parameters: { id: String(body.data[0].id) } };
}

async function deactivatedPolicy({ tenant }: Actors) {
  const id = await makeId("policy", tenant.client);
  await tenant.client.must.patch(`/tenants/policies/${id}/deactivate`);
  return { parameters: { id } };
}

/** All policies of a type, in order. They fit on one page. */
async function policiesOfType(client: TestClient, type: string): Promise<string[]> {
  const { body } = await client.get(`/tenants/policies?filter[type]=${type}&sort=order&limit=100`);
  return body.data.map(({ id }: { id: string }) => id);
}

const newPolicy = { type: "PRIVATE", action: true };

export const policyCases: readonly OperationCase[] = [
  { operation: policies.listPolicies, prepare: nothing },
  {
    operation: policies.createPolicy,
    prepare: async ({ tenant }) => ({
      body: {
        ...newPolicy,
        name: unique("Policy"),
        groups: [await makeId("group", tenant.client)],
        users: [await makeId("user", tenant.client)],
        devices: [await makeId("device", tenant.client)],
        resources: [await makeId("resource", tenant.client)],
        gateways: [await makeId("gateway", tenant.client)],
        sourceIps: ["192.0.2.0/24", "2001:db8::/32"],
        rule: await makeId("admission-rule", tenant.client),
        description: "For the staff.",
      },
    }),
    references: [
      { field: "/groups/*", noun: "group", body: (id) => ({ ...newPolicy, name: unique("Policy"), groups: [id] }) },
      { field: "/users/*", noun: "user", body: (id) => ({ ...newPolicy, name: unique("Policy"), users: [id] }) },
      { field: "/devices/*", noun: "device", body: (id) => ({ ...newPolicy, name: unique("Policy"), devices: [id] }) },
      {
        field: "/resources/*",
        noun: "resource",
        body: (id) => ({ ...newPolicy, name: unique("Policy"), resources: [id] }),
      },
      {
        field: "/gateways/*",
        noun: "gateway",
        body: (id) => ({ ...newPolicy, name: unique("Policy"), gateways: [id] }),
      },
      {
        field: "/rule",
        noun: "admission-rule",
        body: (id) => ({ ...newPolicy, name: unique("Policy"), rule: id }),
      },
    ],
    conflict: async ({ tenant }) => ({ body: { ...newPolicy, name: (await make("policy", tenant.client)).name } }),
  },
  { operation: policies.readPolicy, prepare: existing("policy") },
  {
    operation: policies.updatePolicy,
    prepare: async ({ tenant }) => ({
      parameters: { id: await makeId("policy", tenant.client) },
      body: { name: unique("Policy"), allUsers: false, groups: [await makeId("group", tenant.client)] },
    }),
    references: [
      { field: "/groups/*", noun: "group", body: (id) => ({ groups: [id] }) },
      { field: "/users/*", noun: "user", body: (id) => ({ users: [id] }) },
      { field: "/devices/*", noun: "device", body: (id) => ({ devices: [id] }) },
      { field: "/resources/*", noun: "resource", body: (id) => ({ resources: [id] }) },
      { field: "/gateways/*", noun: "gateway", body: (id) => ({ gateways: [id] }) },
      { field: "/rule", noun: "admission-rule", body: (id) => ({ rule: id }) },
    ],
    conflict: async ({ tenant }) => ({
      parameters: { id: await makeId("policy", tenant.client) },
      body: { name: (await make("policy", tenant.client)).name },
    }),
  },
  { operation: policies.deletePolicy, prepare: existing("policy"), conflict: defaultPolicy },
  { operation: policies.deactivatePolicy, prepare: existing("policy"), conflict: defaultPolicy },
  { operation: policies.reactivatePolicy, prepare: deactivatedPolicy, conflict: existing("policy") },
  {
    operation: policies.reorderPolicies,
    prepare: async ({ tenant }) => {
      await make("policy", tenant.client);
      return { body: { type: "PRIVATE", policies: (await policiesOfType(tenant.client, "PRIVATE")).reverse() } };
    },
    references: [
      {
        field: "/policies/*",
        noun: "policy",
        body: (id) => ({ type: "SITETOSITE", policies: [id] }),
        code: "incomplete_order",
      },
    ],
  },

  { operation: rules.listAdmissionRules, prepare: nothing },
  {
    operation: rules.createAdmissionRule,
    prepare: async () => ({
      body: { name: unique("Rule"), rule: "now.getHours('Europe/Berlin') < 20", hasTimeConstraint: true },
    }),
    conflict: async ({ tenant }) => ({
      body: {
        name: (await make("admission-rule", tenant.client)).name,
        rule: "source.country == 'DE'",
        hasTimeConstraint: false,
      },
    }),
  },
  { operation: rules.readAdmissionRule, prepare: existing("admission-rule") },
  {
    operation: rules.updateAdmissionRule,
    prepare: async ({ tenant }) => ({
      parameters: { id: await makeId("admission-rule", tenant.client) },
      body: { rule: "user.department == 'Engineering'" },
    }),
    conflict: async (actors) => ({ ...(await builtInRule(actors)), body: { name: unique("Rule") } }),
  },
  { operation: rules.deleteAdmissionRule, prepare: existing("admission-rule"), conflict: builtInRule },
  {
    operation: rules.checkAdmissionRule,
    prepare: async () => ({ body: { rule: `now.getHours() < 20 && device.name == '${unique("Laptop")}'` } }),
  },
];
