/** The list of the sessions of devices, for administrators. */
import type { DeviceSessionEndReason } from "@gatehouse/contract/records/device";
import type { DeviceSessionState, ListedDeviceSession } from "@gatehouse/contract/records/device-session";
import { jsonObject } from "../../platform/db/json-object.ts";
import type { ListSource } from "../../platform/db/list-statement.ts";
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

/**
 * SQL for whether the device has a session, so that its state is not null. Most devices are active, which is much
 * cheaper to determine than the end of the session. Inactive users are found once for all devices.
 */
const isListed = `(item.enrolment_key_id IS NULL AND item.user_id IS NOT NULL AND (item.approval_pending OR
    (item.active AND item.user_id NOT IN (
      SELECT person.id FROM users AS person WHERE person.tenant_id = current_tenant() AND person.status = 'inactive'))
    OR ${own("signed_in_at")} IS NOT NULL OR ${end} IS NOT NULL))`;

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

const listed: Filter = { field: "isListed", kind: "boolean", operator: "eq", values: ["true"] };

/** @param now the time for which states are computed */
export function listDeviceSessions(
  tx: TenantTx,
  query: ListQuery,
  now: Date,
): Promise<{ readonly rows: ListedSessionRow[]; readonly total: number }> {
  return listCountedPage(tx, sourceAt(now), { ...query, filters: [...query.filters, listed] });
}
