/** Fills the first tenant with example records through the API. */
import type { RoleType } from "@gatehouse/contract/permissions";
import type { Composition } from "../compose.ts";
import { openDemoTenant } from "../features/tenants/tenants.api.ts";
import type { Connection } from "../platform/db/database.ts";
import { runExclusively } from "../platform/db/exclusive-work.ts";
import { demoPolicies, demoRules } from "./demo-access.ts";
import { DemoApi, type NamedRecord } from "./demo-api.ts";
import { demoGatewayInMaintenance, demoGateways, demoProtocols, demoResources } from "./demo-network.ts";
import { demoDevices, demoGroups, demoLostDevice, demoRolesOf, demoUsers } from "./demo-people.ts";

type IdOf = (name: string) => string;

/** An arbitrary number that all replicas share. The replica with the lock creates the example records. */
const fillLock = 7_226_410_775;

/** Does nothing if the tenant was filled before. Continues after an interruption. Replicas take turns. */
export async function fillDemoTenant(
  composition: Pick<Composition, "app" | "runner">,
  connection: Connection,
): Promise<void> {
  await runExclusively(connection, fillLock, () => fill(composition));
}

async function fill({ app, runner }: Pick<Composition, "app" | "runner">): Promise<void> {
  const tenant = await openDemoTenant(runner, new Date());
  if (tenant === undefined) return;
  const api = new DemoApi(app, tenant.key);
  const groups = await ensure(api, "/tenants/groups", demoGroups, (group) => group);
  const users = await fillPeople(api, groups);
  const gateways = await ensure(api, "/tenants/gateways", demoGateways, (gateway) => gateway);
  await api.call("POST", `/tenants/gateways/${gateways(demoGatewayInMaintenance)}/enter-maintenance`);
  const resources = await fillResources(api, gateways);
  await fillPolicies(api, { groups, users, gateways, resources });
  await tenant.markFilled();
  await api.call("DELETE", `/tenants/api-keys/${tenant.keyId}`);
}

async function fillPeople(api: DemoApi, groups: IdOf): Promise<IdOf> {
  const there = new Set((await api.list("/tenants/users")).map(({ email }) => email));
  const invited = demoUsers.filter(({ email }) => !there.has(email));
  if (invited.length > 0) {
    const roles = await api.call<readonly { readonly id: string; readonly type: RoleType }[]>("GET", "/tenants/roles");
    const bodies = invited.map(({ email, group }) => ({
      email,
      groups: [groups(group)],
      roles: roles.filter(({ type }) => demoRolesOf.get(email)?.includes(type) === true).map(({ id }) => id),
    }));
    await api.call("POST", "/tenants/users", bodies);
  }
  const users = idFinder(await api.list("/tenants/users"));
  for (const { email, firstName, lastName, attributes } of demoUsers) {
    await api.call("PUT", `/tenants/users/${users(email)}`, { firstName, lastName });
    await api.call("PATCH", `/tenants/users/${users(email)}`, { attributes });
  }
  const devices = await ensure(api, "/tenants/devices", demoDevices, ({ userEmail, ...device }) => ({
    ...device,
    userId: users(userEmail),
  }));
  await api.call("PATCH", `/tenants/devices/${devices(demoLostDevice)}/deactivate`);
  return users;
}

async function fillResources(api: DemoApi, gateways: IdOf): Promise<IdOf> {
  const protocols = await ensure(api, "/tenants/protocols", demoProtocols, (protocol) => protocol);
  const resources = await ensure(
    api,
    "/tenants/resources",
    demoResources,
    ({ name, type, description, addresses }) => ({
      name,
      type,
      description,
      addresses: addresses.map((address) => ({ ...address, protocols: address.protocols.map(protocols) })),
    }),
  );
  for (const { name, loadBalancingMode, gateways: inOrder } of demoResources) {
    const body = { loadBalancingMode, gateways: inOrder.map(gateways) };
    await api.call("POST", `/tenants/resources/${resources(name)}/loadBalancing`, body);
  }
  return resources;
}

async function fillPolicies(
  api: DemoApi,
  ids: { readonly groups: IdOf; readonly users: IdOf; readonly gateways: IdOf; readonly resources: IdOf },
): Promise<void> {
  const rules = await ensure(api, "/tenants/admission-rules", demoRules, (rule) => rule);
  await ensure(api, "/tenants/policies", demoPolicies, ({ rule, groups, users, gateways, resources, ...policy }) => ({
    ...policy,
    groups: groups?.map(ids.groups) ?? [],
    users: users?.map(ids.users) ?? [],
    gateways: gateways?.map(ids.gateways) ?? [],
    resources: resources?.map(ids.resources) ?? [],
    ...(rule === undefined ? {} : { rule: rules(rule) }),
  }));
}

/**
 * Creates missing records in order, because the order of policies matters.
 *
 * @returns a function that finds the id of any record of the kind by name
 */
async function ensure<T extends { readonly name: string }>(
  api: DemoApi,
  path: string,
  wanted: readonly T[],
  body: (record: T) => object,
): Promise<IdOf> {
  const records = [...(await api.list(path))];
  const there = new Set(records.map(({ name }) => name));
  for (const record of wanted) {
    if (!there.has(record.name)) records.push(await api.call<NamedRecord>("POST", path, body(record)));
  }
  return idFinder(records);
}

function idFinder(records: readonly NamedRecord[]): IdOf {
  const ids = new Map(records.map(({ id, name, email }) => [name ?? email, id]));
  return (name) => {
    const id = ids.get(name);
    if (id === undefined) throw new Error(`the example records refer to ${name}, which does not exist`);
    return id;
  };
}
