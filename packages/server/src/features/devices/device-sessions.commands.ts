/** Administration of the sessions of devices (docs/decisions/0155-requiring-sign-in-again.md). */
import type { Operation } from "@gatehouse/contract/operation";
import type * as operations from "@gatehouse/contract/operations/device-sessions.operations";
import type { ListedDeviceSession } from "@gatehouse/contract/records/device-session";
import { AppError, bodyField } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import { isoTimestamp } from "../../platform/db/column-types.ts";
import { pageOfItems } from "../../platform/db/list-statement.ts";
import { empty, type Outcome } from "../../platform/outcome.ts";
import type { CommandTx, TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { type ListedSessionRow, listDeviceSessions as listSessions } from "./device-session-list.queries.ts";
import { type AskedDevices, findAskedRecords } from "./device-sessions.queries.ts";
import { askToSignIn } from "./device-sessions.ts";
import { lockForChange } from "./devices.commands.ts";
import { readDevices } from "./devices.queries.ts";

export async function listDeviceSessions(call: Call<typeof operations.listDeviceSessions>): Promise<Outcome> {
  const { rows, total } = await call.read((tx) => listSessions(tx, call.listQuery, call.now));
  return { kind: "page", page: pageOfItems(call.listQuery, rows.map(sessionView), total) };
}

export async function endDeviceSession(call: Call<typeof operations.endDeviceSession>): Promise<Outcome> {
  return call.command(async (tx) => {
    const { id } = await lockForChange(call, tx);
    await ask(call, tx, { devices: [id] });
    return empty();
  });
}

export async function requireSignIn(call: Call<typeof operations.requireSignIn>): Promise<Outcome> {
  return call.command(async (tx) => {
    await requireRecords(tx, call.body);
    await ask(call, tx, call.body);
    return empty();
  });
}

/** @throws AppError device_without_sessions, too_many_devices */
async function ask({ now, actor }: Pick<Call<Operation>, "now" | "actor">, tx: CommandTx, asked: AskedDevices) {
  for (const { device } of await readDevices(tx, asked.devices ?? [])) {
    if (device.enrolment_key_id !== null || device.user === null) {
      throw new AppError("device_without_sessions", { detail: `Nobody can sign in on the device ${device.name}.` });
    }
  }
  await askToSignIn(tx, asked, { at: now, by: actor });
}

/** @throws AppError unknown_reference */
async function requireRecords(tx: TenantTx, asked: AskedDevices): Promise<void> {
  const known = await findAskedRecords(tx, asked);
  const errors = (["devices", "users", "groups"] as const).flatMap((field) =>
    (asked[field] ?? []).flatMap((id, index) =>
      known.has(id.toLowerCase())
        ? []
        : [bodyField(`/${field}/${index}`, `no ${field.slice(0, -1)} has the id ${JSON.stringify(id)}`)],
    ),
  );
  if (errors.length > 0) throw new AppError("unknown_reference", { errors });
}

function sessionView(row: ListedSessionRow): ListedDeviceSession {
  const { id, name, active, user, state, methods, provider } = row;
  return {
    id,
    device: { id, name, active },
    user,
    state,
    ...(row.signed_in_at === null ? {} : { signedInAt: isoTimestamp(row.signed_in_at) }),
    ...(row.authenticated_at === null ? {} : { authenticatedAt: isoTimestamp(row.authenticated_at) }),
    methods: [...(methods ?? [])],
    ...(provider === null ? {} : { provider }),
    ...(row.ends_at === null ? {} : { endsAt: isoTimestamp(row.ends_at) }),
    ...(row.end_reason !== null ? { endReason: row.end_reason } : {}),
    ...(row.ended_by !== null ? { endedBy: row.ended_by } : {}),
  };
}
