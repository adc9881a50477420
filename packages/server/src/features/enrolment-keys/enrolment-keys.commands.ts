import type * as operations from "@gatehouse/contract/operations/enrolment-keys.operations";
import { AppError, bodyField } from "../../platform/app-error.ts";
import type { KeyLimits } from "../../platform/authorization/key-limits.ts";
import type { Call } from "../../platform/call.ts";
import { newId } from "../../platform/ids.ts";
import { empty, type Outcome, record, streamed } from "../../platform/outcome.ts";
import { generateToken, hashToken, tokenPrefixes, visiblePrefix } from "../../platform/secrets/tokens.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import * as queries from "./enrolment-keys.queries.ts";
import { defaultExpiry, keyExpiryProblem, outlivesCaller } from "./enrolment-keys.rules.ts";
import { enrolmentKeyView, newEnrolmentKeyView } from "./enrolment-keys.view.ts";

export async function listEnrolmentKeys(call: Call<typeof operations.listEnrolmentKeys>): Promise<Outcome> {
  return streamed(async (afterId, limit) =>
    (await call.read((tx) => queries.listEnrolmentKeys(tx, afterId, limit))).map((row) =>
      enrolmentKeyView(row, call.now),
    ),
  );
}

export async function readEnrolmentKey(call: Call<typeof operations.readEnrolmentKey>): Promise<Outcome> {
  const row = await call.read((tx) => queries.readEnrolmentKey(tx, call.parameters.id));
  if (row === undefined) throw new AppError("not_found");
  return record(enrolmentKeyView(row, call.now), row.version);
}

export async function createEnrolmentKey(call: Call<typeof operations.createEnrolmentKey>): Promise<Outcome> {
  const { name, userId, maxUses = 1, tags = [], expiresAt: asked } = call.body;
  return call.command(async (tx) => {
    // Inside the command: a repeated request gets its stored reply, although the time may have passed.
    const expiresAt = asked === undefined ? defaultExpiry(call.limits?.expiresAt, call.now) : new Date(asked);
    requireExpiry(expiresAt, call);
    const status = await queries.statusOfUser(tx, userId);
    if (status === undefined) {
      const errors = [bodyField("/userId", `no user has the id ${JSON.stringify(userId)}`)];
      throw new AppError("unknown_reference", { errors });
    }
    if (status === "inactive") {
      throw new AppError("user_deactivated", { errors: [bodyField("/userId", "is a deactivated user")] });
    }
    const key = generateToken(tokenPrefixes.enrolmentKey);
    const stored = { id: newId(), prefix: visiblePrefix(key), keyHash: hashToken(key) };
    const row = await queries.insertEnrolmentKey(
      tx,
      call.granted,
      { ...stored, name, userId, tags, maxUses, expiresAt },
      call.now,
    );
    tx.record({ type: "enrolment-key", id: row.id, name, after: enrolmentKeyView(row, call.now) });
    const location = `/tenants/enrolment-keys/${row.id}`;
    return { ...record(newEnrolmentKeyView(row, call.now, key), row.version), location };
  });
}

export async function updateEnrolmentKey(call: Call<typeof operations.updateEnrolmentKey>): Promise<Outcome> {
  const { body } = call;
  return call.command(async (tx) => {
    const row = await lockForChange(call, tx);
    const { name = row.name } = body;
    const expiresAt = new Date(body.expiresAt ?? row.expires_at);
    if ("expiresAt" in body) requireExpiry(expiresAt, call);
    if (name === row.name && expiresAt.getTime() === Date.parse(row.expires_at)) {
      return record(enrolmentKeyView(row, call.now), row.version);
    }
    const after = await queries.updateEnrolmentKey(tx, call.granted, row.id, { name, expiresAt }, call.now);
    const view = enrolmentKeyView(after, call.now);
    tx.record({ type: "enrolment-key", id: row.id, name, before: enrolmentKeyView(row, call.now), after: view });
    return record(view, after.version);
  });
}

export async function revokeEnrolmentKey(call: Call<typeof operations.revokeEnrolmentKey>): Promise<Outcome> {
  return call.command(async (tx) => {
    const row = await lockForChange(call, tx);
    const before = enrolmentKeyView(row, call.now);
    if (row.revoked_at !== null) return record(before, row.version);
    const after = await queries.revokeEnrolmentKey(tx, call.granted, row.id, call.now);
    const view = enrolmentKeyView(after, call.now);
    tx.record({ type: "enrolment-key", id: row.id, name: row.name, before, after: view });
    return record(view, after.version);
  });
}

export async function deleteEnrolmentKey(call: Call<typeof operations.deleteEnrolmentKey>): Promise<Outcome> {
  return call.command(async (tx) => {
    const row = await lockForChange(call, tx);
    await queries.deleteEnrolmentKey(tx, call.granted, row.id);
    tx.record({ type: "enrolment-key", id: row.id, name: row.name, before: enrolmentKeyView(row, call.now) });
    return empty();
  });
}

/** @throws AppError not_found, precondition_failed */
async function lockForChange(
  call: Pick<Call<typeof operations.deleteEnrolmentKey>, "parameters" | "requireVersion">,
  tx: TenantTx,
): Promise<queries.EnrolmentKeyRow> {
  const row = await queries.lockEnrolmentKey(tx, call.parameters.id);
  if (row === undefined) throw new AppError("not_found");
  call.requireVersion(row.version);
  return row;
}

/** @throws AppError invalid_combination, grants_exceed_caller */
function requireExpiry(
  expiresAt: Date,
  { now, limits }: { readonly now: Date; readonly limits: KeyLimits | undefined },
): void {
  const problem = keyExpiryProblem(expiresAt, now);
  if (problem !== undefined) throw new AppError("invalid_combination", { errors: [problem] });
  const detail = outlivesCaller(expiresAt, limits?.expiresAt);
  if (detail !== undefined) throw new AppError("grants_exceed_caller", { detail });
}
