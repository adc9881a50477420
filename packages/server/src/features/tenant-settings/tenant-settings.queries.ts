import { defaultTenantSettings, type TenantSettings } from "@gatehouse/contract/records/tenant-settings";
import type { Granted } from "../../platform/authorization/granted.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

export interface TenantSettingsRow extends TenantSettings {
  readonly version: number;
}

const { sessionLifetime, sessionIdleTime } = defaultTenantSettings;
const columns = `item.version, item.configuration_lifetime AS "configurationLifetime",
  item.device_approval AS "deviceApproval", item.device_session_lifetime AS "deviceSessionLifetime",
  coalesce(sign_in.session_lifetime_seconds, ${sessionLifetime}) AS "sessionLifetime",
  coalesce(sign_in.session_idle_seconds, ${sessionIdleTime}) AS "sessionIdleTime",
  coalesce(sign_in.single_sign_on_only, false) AS "singleSignOnOnly"`;

const select = statement<TenantSettingsRow, [tenantId: string]>(
  "tenant_settings.read",
  `SELECT ${columns} FROM tenant_settings AS item LEFT JOIN sign_in_settings AS sign_in USING (tenant_id)
   WHERE item.tenant_id = $1`,
);
const selectForChange = statement<TenantSettingsRow, [tenantId: string]>(
  "tenant_settings.lock",
  `SELECT ${columns} FROM tenant_settings AS item LEFT JOIN sign_in_settings AS sign_in USING (tenant_id)
   WHERE item.tenant_id = $1 FOR UPDATE OF item`,
);
// The settings of sign-in are in their own table, whose row exists once a setting was changed.
const update = statement<
  TenantSettingsRow,
  [
    tenantId: string,
    at: Date,
    configurationLifetime: number,
    sessionLifetime: number,
    sessionIdleTime: number,
    singleSignOnOnly: boolean,
    deviceApproval: string,
    deviceSessionLifetime: number | null,
  ]
>(
  "tenant_settings.update",
  `WITH item AS (
     UPDATE tenant_settings SET updated_at = $2, version = version + 1, configuration_lifetime = $3,
       device_approval = $7, device_session_lifetime = $8::integer,
       device_sessions_since = CASE WHEN $8::integer IS NOT NULL THEN coalesce(device_sessions_since, $2) END
     WHERE tenant_id = $1 RETURNING *
   ), sign_in AS (
     INSERT INTO sign_in_settings AS stored
       (tenant_id, updated_at, session_lifetime_seconds, session_idle_seconds, single_sign_on_only)
     SELECT tenant_id, $2, $4, $5, $6 FROM item
     ON CONFLICT (tenant_id) DO UPDATE SET updated_at = $2, version = stored.version + 1,
       session_lifetime_seconds = $4, session_idle_seconds = $5, single_sign_on_only = $6
     RETURNING *
   )
   SELECT ${columns} FROM item JOIN sign_in ON sign_in.tenant_id = item.tenant_id`,
);
const shorten = statement<never, [tenantId: string, lifetimeSeconds: number, idleSeconds: number]>(
  "tenant_settings.shorten_sessions",
  `UPDATE sessions SET expires_at = least(expires_at, created_at + $2 * interval '1 second'),
     idle_seconds = least(idle_seconds, $3)
   WHERE tenant_id = $1`,
);

/** The ways in that remain with single sign-on only. */
export interface SingleSignOnWays {
  readonly hasProvider: boolean;
  /** Whether the owner has a recovery code, or an account at an enabled provider. */
  readonly hasOwnersWayIn: boolean;
}

const selectWays = statement<SingleSignOnWays, [tenantId: string]>(
  "tenant_settings.single_sign_on_ways",
  `SELECT EXISTS (SELECT FROM identity_providers WHERE tenant_id = $1 AND enabled) AS "hasProvider",
     EXISTS (
       SELECT FROM users AS owner
       WHERE owner.tenant_id = $1 AND owner.is_owner AND (
         EXISTS (SELECT FROM recovery_codes WHERE tenant_id = $1 AND user_id = owner.id)
         OR EXISTS (
           SELECT FROM external_identities AS known
           JOIN identity_providers AS provider
             ON provider.tenant_id = known.tenant_id AND provider.id = known.provider_id
           WHERE known.tenant_id = $1 AND known.user_id = owner.id AND provider.enabled))
     ) AS "hasOwnersWayIn"`,
);

/** @returns undefined if the tenant does not exist any more */
export async function readTenantSettings(tx: TenantTx): Promise<TenantSettingsRow | undefined> {
  return (await tx.query(select, tx.tenantId))[0];
}

export async function lockTenantSettings(tx: TenantTx): Promise<TenantSettingsRow | undefined> {
  return (await tx.query(selectForChange, tx.tenantId))[0];
}

export async function updateTenantSettings(
  tx: TenantTx,
  _granted: Granted<"settings:write">,
  settings: TenantSettings,
  at: Date,
): Promise<TenantSettingsRow | undefined> {
  const rows = await tx.query(
    update,
    tx.tenantId,
    at,
    settings.configurationLifetime,
    settings.sessionLifetime,
    settings.sessionIdleTime,
    settings.singleSignOnOnly,
    settings.deviceApproval,
    settings.deviceSessionLifetime,
  );
  return rows[0];
}

/** How long agents may enforce a configuration without the control plane, in milliseconds. */
export async function readConfigurationLifeMs(tx: TenantTx): Promise<number> {
  const { configurationLifetime } = (await readTenantSettings(tx)) ?? defaultTenantSettings;
  return configurationLifetime * 1_000;
}

/** Ends existing sessions as early as the settings require. Sessions never last longer than they began with. */
export async function shortenSessions(
  tx: TenantTx,
  settings: Pick<TenantSettings, "sessionLifetime" | "sessionIdleTime">,
): Promise<void> {
  await tx.query(shorten, tx.tenantId, settings.sessionLifetime, settings.sessionIdleTime);
}

export async function readSingleSignOnWays(tx: TenantTx): Promise<SingleSignOnWays> {
  const [ways] = await tx.query(selectWays, tx.tenantId);
  return ways ?? { hasProvider: false, hasOwnersWayIn: false };
}
