/** The list of the sessions of devices, for administrators. */
import type { DeviceSessionEndReason } from "@gatehouse/contract/records/device";
import type { DeviceSessionState, ListedDeviceSession } from "@gatehouse/contract/records/device-session";
import { jsonObject } from "../../platform/db/json-object.ts";
import type { ListSource, ListStatement } from "../../platform/db/list-statement.ts";
import { unprepared } from "../../platform/db/statement.ts";
import type { Filter, ListQuery } from "../../platform/list-query.ts";
import { listCountedPage } from "../../platform/tenancy/list-page.queries.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { deviceSessionEnd } from "./devices.view.ts";

export interface ListedSessionRow {
  readonly id: string;
  readonly name: string;
  readonly active: boolean;
  readonly user: { readonly id: string; readonly email: string };
  readonly state: DeviceSessionState;
  readonly signed_in_at: string | null;
  readonly authenticated_at: string | null;
  readonly methods: readonly string[] | null;
  readonly provider: { readonly id: string; readonly name: string } | null;
  readonly ends_at: string | null;
  readonly end_reason: DeviceSessionEndReason | null;
  readonly ended_by: NonNullable<ListedDeviceSession["endedBy"]> | null;
}

/** SQL for a column of the stored session of a device. */
const own = (column: string) =>
  `(SELECT own.${column} FROM device_sessions AS own WHERE own.tenant_id = item.tenant_id AND own.device_id = item.id)`;
const ofUser = (expression: string) =>
  `(SELECT ${expression} FROM users AS person WHERE person.tenant_id = item.tenant_id AND person.id = item.user_id)`;
const end = deviceSessionEnd("item");
const isActivated = `(item.active AND ${ofUser("person.status")} <> 'inactive')`;

/**
 * SQL for whether a deactivation ended the session. Without a lifetime, the session ends only until the device and its
 * user are active again.
 */
const isCutOff = `(${own("ended_at")} IS NOT NULL AND ${isActivated} IS FALSE)`;

const endsAt = `coalesce(${end}, CASE WHEN ${isCutOff} THEN date_trunc('second', ${own("ended_at")}) END)`;

/**
 * SQL for the state of the session. Null if the device has none: it belongs to nobody or to an enrolment key, or it is
 * cut off without a session.
 */
function stateAt(now: Date): string {
  return `CASE
    WHEN item.enrolment_key_id IS NOT NULL OR item.user_id IS NULL THEN NULL
    WHEN item.approval_pending THEN 'pending'
    WHEN ${end} <= to_timestamp(${now.getTime()} / 1000.0)
      THEN CASE WHEN ${own("ended_at")} IS NULL THEN 'expired' ELSE 'ended' END
    WHEN ${end} IS NOT NULL OR ${own("signed_in_at")} IS NOT NULL
      THEN CASE WHEN ${isCutOff} THEN 'ended' WHEN ${own("signed_in_at")} IS NULL THEN 'not-signed-in' ELSE 'active' END
    WHEN ${isActivated} THEN 'not-signed-in' END`;
}

/** SQL for whether a lifetime ends the sessions of the device's user. The limited users are found once. */
const isLimited = `(EXISTS (SELECT FROM tenant_settings AS settings
      WHERE settings.tenant_id = current_tenant() AND settings.device_session_lifetime IS NOT NULL)
    OR item.user_id IN (SELECT joined.user_id FROM groups AS limiting
      JOIN group_members AS joined ON joined.tenant_id = current_tenant() AND joined.group_id = limiting.id
      WHERE limiting.tenant_id = current_tenant() AND limiting.device_session_lifetime IS NOT NULL))`;

/**
 * SQL for whether the device has a session, so that its state is not null. Most devices are active, which is much
 * cheaper to determine than the end of the session. Inactive users are found once for all devices.
 */
const isListed = `(item.enrolment_key_id IS NULL AND item.user_id IS NOT NULL AND (item.approval_pending OR
    (item.active AND item.user_id NOT IN (
      SELECT person.id FROM users AS person WHERE person.tenant_id = current_tenant() AND person.status = 'inactive'))
    OR ${isLimited} OR ${own("signed_in_at")} IS NOT NULL
    OR (SELECT own.sign_in_required AND own.ended_at IS NOT NULL FROM device_sessions AS own
        WHERE own.tenant_id = item.tenant_id AND own.device_id = item.id)))`;

function sourceAt(now: Date): ListSource {
  const state = stateAt(now);
  return {
    table: "devices",
    select: `item.id, item.name, item.active, ${ofUser(jsonObject("person", ["id", "email"]))} AS user,
      ${state} AS state, ${own("signed_in_at")} AS signed_in_at, ${own("authenticated_at")} AS authenticated_at,
      ${own("methods")} AS methods, ${endsAt} AS ends_at, ${own("end_reason")} AS end_reason, ${own("ended_by")} AS ended_by,
      (SELECT ${jsonObject("provider", ["id", "name"])} FROM identity_providers AS provider
       WHERE provider.tenant_id = item.tenant_id AND provider.id = ${own("provider_id")}) AS provider`,
    columns: {
      id: { value: "item.id" },
      "device.name": { value: "item.name", key: "item.name_key" },
      "device.active": { value: "item.active" },
      "user.id": { value: "item.user_id" },
      "user.email": { value: ofUser("person.email_key"), key: ofUser("person.email_key"), lowerCase: true },
      "group.id": {
        value: "member.group_id",
        within: (predicate) => `EXISTS (SELECT FROM group_members AS member
          WHERE member.tenant_id = item.tenant_id AND member.user_id = item.user_id AND ${predicate})`,
      },
      state: { value: state },
      isListed: { value: isListed },
      signedInAt: { value: own("signed_in_at"), nullable: true },
      endsAt: { value: endsAt, nullable: true },
    },
  };
}

/**
 * Counts the sessions of a tenant: its devices without those that have no session. These are few, and have indexes:
 * they are inactive, belong to nobody or to an enrolment key, or are active devices of inactive users.
 */
const countAll: ListStatement<{ count: number }> = {
  statement: unprepared(
    `SELECT
       coalesce((SELECT count FROM record_counts WHERE tenant_id = current_tenant() AND kind = 'devices'), 0)
       - (SELECT count(*) FROM devices AS item WHERE item.tenant_id = current_tenant()
            AND (NOT item.active OR item.user_id IS NULL OR item.enrolment_key_id IS NOT NULL)
            AND ${isListed} IS NOT TRUE)
       - (SELECT count(*) FROM users AS leaver
          JOIN devices AS item ON item.tenant_id = current_tenant() AND item.user_id = leaver.id
          WHERE leaver.tenant_id = current_tenant() AND leaver.status = 'inactive'
            AND item.active AND item.enrolment_key_id IS NULL AND ${isListed} IS NOT TRUE) AS count`,
  ),
  parameters: [],
};

const listed: Filter = { field: "isListed", kind: "boolean", operator: "eq", values: ["true"] };

/** @param now the time for which states are computed */
export function listDeviceSessions(
  tx: TenantTx,
  query: ListQuery,
  now: Date,
): Promise<{ readonly rows: ListedSessionRow[]; readonly total: number }> {
  const count = query.filters.length === 0 ? countAll : undefined;
  return listCountedPage(tx, sourceAt(now), { ...query, filters: [...query.filters, listed] }, count);
}
