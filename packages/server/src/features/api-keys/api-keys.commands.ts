import type * as operations from "@gatehouse/contract/operations/api-keys.operations";
import type { Permission } from "@gatehouse/contract/permissions";
import { defaultGraceSeconds } from "@gatehouse/contract/schema";
import { AppError } from "../../platform/app-error.ts";
import type { Granted } from "../../platform/authorization/granted.ts";
import type { KeyLimits } from "../../platform/authorization/key-limits.ts";
import type { Call } from "../../platform/call.ts";
import type { Actor } from "../../platform/change.ts";
import { newId } from "../../platform/ids.ts";
import { empty, type Outcome, record, streamed, wholeArray } from "../../platform/outcome.ts";
import { generateToken, hashToken, tokenPrefixes, visiblePrefix } from "../../platform/secrets/tokens.ts";
import { canonicalSourceIps } from "../../platform/source-ips.ts";
import type { CommandTx } from "../../platform/tenancy/tenant-tx.ts";
import * as queries from "./api-keys.queries.ts";
import { expiryProblem, grantsBeyond, type KeyGrants, namedPermissions, permissionsProblem } from "./api-keys.rules.ts";
import { apiKeyView, newApiKeyView } from "./api-keys.view.ts";

export async function listApiKeys(call: Call<typeof operations.listApiKeys>): Promise<Outcome> {
  return streamed(async (afterId, limit) =>
    (await call.read((tx) => queries.listApiKeys(tx, afterId, limit))).map(apiKeyView),
  );
}

export async function readApiKey(call: Call<typeof operations.readApiKey>): Promise<Outcome> {
  const row = await call.read((tx) => queries.readApiKey(tx, call.parameters.id));
  if (row === undefined) throw new AppError("not_found");
  return record(apiKeyView(row), row.version);
}

export async function createApiKey(call: Call<typeof operations.createApiKey>): Promise<Outcome> {
  const { name, expiresAt, sourceIps = [] } = call.body;
  const asked = {
    permissions: namedPermissions(call.body),
    expiresAt: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
    sourceIps,
  };
  return call.command(async (tx) => {
    // Check the expiry inside the command: a repeated request gets its stored reply, although the time may have passed.
    refuseMoreThanHeld(asked, call);
    const problems = [permissionsProblem(call.body), expiryProblem(expiresAt, call.now)].filter(
      (problem) => problem !== undefined,
    );
    if (problems.length > 0) throw new AppError("invalid_combination", { errors: problems });
    const canonical = canonicalSourceIps(sourceIps);
    if (!canonical.ok) throw new AppError("invalid_address", { errors: canonical.errors });
    const issued = await issueApiKey(tx, call.granted, call.now, {
      name,
      ...asked,
      sourceIps: canonical.value,
      creator: call.actor,
    });
    const location = `/tenants/api-keys/${issued.row.id}`;
    return { ...record(newApiKeyView(issued.row, issued.key), issued.row.version), location };
  });
}

export async function deleteApiKey(call: Call<typeof operations.deleteApiKey>): Promise<Outcome> {
  return call.command(async (tx) => {
    const row = await queries.lockApiKey(tx, call.parameters.id);
    if (row === undefined) throw new AppError("not_found");
    call.requireVersion(row.version);
    await queries.deleteApiKey(tx, call.granted, row.id);
    tx.record({ type: "api-key", id: row.id, name: row.name, before: apiKeyView(row) });
    return empty();
  });
}

export async function listApiKeysOfUser(call: Call<typeof operations.listApiKeysOfUser>): Promise<Outcome> {
  const rows = await call.read((tx) => queries.readApiKeysOfUser(tx, call.parameters.id));
  if (rows === undefined) throw new AppError("not_found");
  return wholeArray(rows.map(apiKeyView));
}

export async function deleteApiKeysOfUser(call: Call<typeof operations.deleteApiKeysOfUser>): Promise<Outcome> {
  return call.command(async (tx) => {
    const user = await queries.lockCreatorOfKeys(tx, call.parameters.id);
    if (user === undefined) throw new AppError("not_found");
    call.requireVersion(user.version);
    const deleted = await queries.deleteApiKeysOfUser(tx, call.granted, call.parameters.id);
    for (const row of deleted) tx.record({ type: "api-key", id: row.id, name: row.name, before: apiKeyView(row) });
    return empty();
  });
}

export async function rotateApiKey(call: Call<typeof operations.rotateApiKey>): Promise<Outcome> {
  const graceMs = (call.body.graceSeconds ?? defaultGraceSeconds) * 1000;
  return call.command(async (tx) => {
    const row = await queries.lockApiKey(tx, call.parameters.id);
    if (row === undefined) throw new AppError("not_found");
    call.requireVersion(row.version);
    const settings = { permissions: row.permissions, expiresAt: row.expires_at, sourceIps: row.source_ips };
    refuseMoreThanHeld(settings, call);
    if (row.replaced_by !== null) throw new AppError("api_key_replaced");
    if (expiryProblem(row.expires_at ?? undefined, call.now) !== undefined) throw new AppError("api_key_expired");
    if (row.id === call.actor.id) call.endOwnKey();
    const issued = await issueApiKey(tx, call.granted, call.now, { name: row.name, ...settings, creator: call.actor });
    const endsAt = new Date(call.now.getTime() + graceMs);
    const old = await queries.replaceApiKey(tx, call.granted, row.id, issued.row.id, endsAt, call.now);
    tx.record({ type: "api-key", id: row.id, name: row.name, before: apiKeyView(row), after: apiKeyView(old) });
    return record(newApiKeyView(issued.row, issued.key), issued.row.version);
  });
}

function refuseMoreThanHeld(
  asked: KeyGrants,
  caller: { readonly permissions: ReadonlySet<Permission>; readonly limits: KeyLimits | undefined },
): void {
  const beyond = grantsBeyond(asked, caller.permissions, caller.limits);
  if (beyond.length > 0) throw new AppError("grants_exceed_caller", { detail: beyond.join(" ") });
}

/** A new key: its row, and the secret, which is shown once. */
export interface IssuedApiKey {
  readonly row: queries.ApiKeyRow;
  readonly key: string;
}

export interface ApiKeySettings {
  readonly name: string;
  readonly permissions: readonly Permission[];
  readonly sourceIps: readonly string[];
  readonly expiresAt: string | null;
  /** The actor that creates the key. */
  readonly creator: Actor;
  /** The value of a key from the configuration; undefined for a random one. */
  readonly key?: string | undefined;
}

/** Inserts a key and records it. The caller has checked the permissions that the key may grant. */
export async function issueApiKey(
  tx: CommandTx,
  granted: Granted<"api-keys:write">,
  at: Date,
  settings: ApiKeySettings,
): Promise<IssuedApiKey> {
  const { key = generateToken(tokenPrefixes.apiKey), ...rest } = settings;
  const row = await queries.insertApiKey(
    tx,
    granted,
    { id: newId(), prefix: visiblePrefix(key), keyHash: hashToken(key), ...rest },
    at,
  );
  tx.record({ type: "api-key", id: row.id, name: row.name, after: apiKeyView(row) });
  return { row, key };
}
