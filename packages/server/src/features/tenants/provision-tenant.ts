/** Creates a tenant with its built-in records. */
import { permissions } from "@gatehouse/contract/permissions";
import { grantedToSystem } from "../../platform/authorization/granted.ts";
import type { CommandTx } from "../../platform/tenancy/tenant-tx.ts";
import { createBuiltInRules } from "../admission-rules/admission-rules.api.ts";
import { type IssuedApiKey, issueApiKey } from "../api-keys/api-keys.api.ts";
import { createDefaultGroup } from "../groups/groups.api.ts";
import { createDefaultPolicy } from "../policies/policies.api.ts";
import { createBuiltInProtocols } from "../protocols/protocols.api.ts";
import { createSystemRoles } from "../roles/roles.api.ts";
import { createOwner } from "../users/users.api.ts";
import { insertTenant, type TenantRow } from "./tenants.queries.ts";
import { tenantView } from "./tenants.view.ts";

export interface NewTenantSettings {
  readonly name: string;
  readonly ownerEmail: string;
  /** The value of the first key, if the configuration sets it. */
  readonly key?: string | undefined;
}

export interface ProvisionedTenant {
  readonly tenant: TenantRow;
  readonly apiKey: IssuedApiKey;
  readonly owner: { readonly id: string; readonly email: string };
}

/**
 * @param tx a transaction in the scope of the new tenant
 *
 * @throws AppError name_taken
 */
export async function provisionTenant(
  tx: CommandTx,
  at: Date,
  settings: NewTenantSettings,
): Promise<ProvisionedTenant> {
  const { name, ownerEmail, key } = settings;
  const tenant = await insertTenant(tx, at, name, ownerEmail);
  tx.record({ type: "tenant", id: tenant.id, name, after: tenantView(tenant) });
  const [roleIds, ruleId] = await Promise.all([
    createSystemRoles(tx, grantedToSystem(), at),
    createBuiltInRules(tx, grantedToSystem(), at),
    createBuiltInProtocols(tx, grantedToSystem(), at),
  ]);
  const roleId = (type: "OWNER" | "DEFAULT") => roleIds.get(type) ?? "";
  const groupId = await createDefaultGroup(tx, grantedToSystem(), at, roleId("DEFAULT"));
  const [apiKey, owner] = await Promise.all([
    issueApiKey(tx, grantedToSystem(), at, {
      name: "First key",
      permissions,
      sourceIps: [],
      expiresAt: null,
      creator: { type: "system", name: "Gatehouse" },
      key,
    }),
    createOwner(tx, grantedToSystem(), at, { email: ownerEmail, groupId, roleId: roleId("OWNER") }),
    createDefaultPolicy(tx, grantedToSystem(), at, ruleId),
  ]);
  return { tenant, apiKey, owner };
}
