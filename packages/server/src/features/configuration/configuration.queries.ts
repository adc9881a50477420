import { configurationLimits } from "@gatehouse/contract/records/configuration";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

/** How many rows of each table the tenant has; counted no further than one beyond what a document holds. */
export type SizesRow = Readonly<Record<string, number>>;

const { references } = configurationLimits;

const counted: Readonly<Record<string, readonly [table: string, most: number]>> = {
  groups: ["groups", configurationLimits.groups],
  users: ["users", configurationLimits.users],
  // The predefined ones are read too.
  protocols: ["protocols", configurationLimits.protocols],
  gateways: ["gateways", configurationLimits.gateways],
  resources: ["resources", configurationLimits.resources],
  addresses: ["addresses", configurationLimits.addresses],
  admissionRules: ["admission_rules", configurationLimits.admissionRules],
  policies: ["policies", configurationLimits.policies],
  group_members: ["group_members", references],
  address_protocols: ["address_protocols", references],
  resource_gateways: ["resource_gateways", references],
  policy_groups: ["policy_groups", references],
  policy_users: ["policy_users", references],
  policy_devices: ["policy_devices", references],
  policy_resources: ["policy_resources", references],
  policy_gateways: ["policy_gateways", references],
};

const selectSizes = statement<SizesRow, [tenantId: string]>(
  "configuration.sizes",
  `SELECT ${Object.entries(counted)
    .map(
      ([name, [table, most]]) =>
        `(SELECT count(*) FROM (SELECT FROM ${table} WHERE tenant_id = $1 LIMIT ${most + 1}) AS rows_there) AS "${name}"`,
    )
    .join(",\n          ")}`,
);

const selectDevices = statement<
  { id: string; publicKey: string; name: string },
  [tenantId: string, keys: readonly string[]]
>(
  "configuration.devices",
  `SELECT id, public_key AS "publicKey", name FROM devices WHERE tenant_id = $1 AND public_key = ANY ($2::text[])`,
);

/** How large the tenant is, before all of it is read. */
export async function readSizes(tx: TenantTx): Promise<SizesRow> {
  return (await tx.query(selectSizes, tx.tenantId))[0] ?? {};
}

/** Those of the public keys that devices of the tenant have, with the devices' ids. */
export async function devicesByKey(tx: TenantTx, publicKeys: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (publicKeys.length === 0) return new Map();
  return new Map((await tx.query(selectDevices, tx.tenantId, publicKeys)).map(({ id, publicKey }) => [publicKey, id]));
}
