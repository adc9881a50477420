import { formatIpAddress, parseIpAddress } from "@gatehouse/addresses/ip-address";
import type { EnrollingMachine } from "../../http/authorization-server.ts";
import type { Database } from "../../platform/db/database.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

/** A code that a person approved. */
export interface AuthorizationCodeRow {
  readonly tenant_id: string;
  readonly code_hash: Buffer;
  readonly session_id: string;
  readonly oauth_client: string;
  readonly program: string;
  readonly redirect_uri: string | null;
  readonly code_challenge: string | null;
  readonly expires_at: string;
  readonly used_at: string | null;
  readonly issued_session_id: string | null;
  /** The device that was enrolled; null for other codes. */
  readonly device_id: string | null;
  /** Whether the user signed in again on the device. */
  readonly renews: boolean;
}

export interface NewAuthorizationCode {
  readonly codeHash: Buffer;
  readonly sessionId: string;
  readonly oauthClient: string;
  readonly program: string;
  readonly redirectUri: string | null;
  readonly codeChallenge: string | null;
  readonly expiresAt: Date;
  readonly deviceId?: string | undefined;
  readonly renews?: boolean;
}

/** A request of a program without a browser. */
export interface DeviceRequestRow {
  readonly device_code_hash: Buffer;
  readonly oauth_client: string;
  readonly machine: string;
  readonly address: string;
  readonly max_age: number | null;
  readonly created_at: string;
  readonly expires_at: string;
  readonly polled_at: string | null;
  readonly answer: "approved" | "denied" | null;
  readonly device: EnrollingMachine | null;
}

export interface NewDeviceRequest {
  readonly deviceCodeHash: Buffer;
  readonly userCodeHash: Buffer;
  readonly oauthClient: string;
  readonly machine: string;
  readonly address: string;
  /** The block of addresses whose pending requests are counted. */
  readonly addressGroup: string;
  readonly maxAge: number | null;
  readonly device: EnrollingMachine | null;
  readonly expiresAt: Date;
}

const codeColumns = `tenant_id, code_hash, session_id, oauth_client, program, redirect_uri, code_challenge, expires_at,
  used_at, issued_session_id, device_id, renews`;
const requestColumns = `device_code_hash, oauth_client, machine, address, max_age, created_at, expires_at, polled_at,
  answer, device`;

const pruneCodes = statement<never, [tenantId: string, expiredBefore: Date]>(
  "authorizations.prune_codes",
  "DELETE FROM authorization_codes WHERE tenant_id = $1 AND expires_at < $2",
);
const insertCode = statement<
  { stored: boolean },
  [
    tenantId: string,
    codeHash: Buffer,
    sessionId: string,
    oauthClient: string,
    program: string,
    redirectUri: string | null,
    codeChallenge: string | null,
    at: Date,
    expiresAt: Date,
    deviceId: string | null,
    renews: boolean,
  ]
>(
  "authorizations.insert_code",
  `INSERT INTO authorization_codes (tenant_id, code_hash, session_id, oauth_client, program, redirect_uri,
                                    code_challenge, created_at, expires_at, device_id, renews)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
   ON CONFLICT DO NOTHING RETURNING true AS stored`,
);
const selectPresented = statement<{ tenant_id: string }, [codeHash: Buffer]>(
  "authorizations.presented_code",
  "SELECT tenant_id FROM authorization_codes WHERE code_hash = $1",
);
const lockCode = statement<AuthorizationCodeRow, [tenantId: string, codeHash: Buffer]>(
  "authorizations.lock_code",
  `SELECT ${codeColumns} FROM authorization_codes WHERE tenant_id = $1 AND code_hash = $2 FOR UPDATE`,
);
const lockHash = statement<never, [codeHash: string]>(
  "authorizations.lock_hash",
  "SELECT pg_advisory_xact_lock(hashtextextended('approved code ' || $1, 0))",
);
const presentHash = statement<never, [codeHash: string]>(
  "authorizations.present_hash",
  "SELECT set_config('app.presented_key_hash', $1, true)",
);
const useCode = statement<never, [tenantId: string, codeHash: Buffer, at: Date, issued: string | null]>(
  "authorizations.use_code",
  `UPDATE authorization_codes SET used_at = $3, issued_session_id = $4 WHERE tenant_id = $1 AND code_hash = $2`,
);
const lockGuesses = statement<never, [userId: string]>(
  "authorizations.lock_guesses",
  "SELECT pg_advisory_xact_lock(hashtextextended('guessed codes, user ' || $1::text, 0))",
);
const countGuesses = statement<{ count: number }, [tenantId: string, userId: string, since: Date, reason: string]>(
  "authorizations.count_guesses",
  `SELECT count(*)::int AS count FROM sign_in_attempts
   WHERE tenant_id = $1 AND user_id = $2 AND created_at > $3 AND reason = $4`,
);
const pruneRequests = statement<never, [expiredBefore: Date]>(
  "authorizations.prune_requests",
  "DELETE FROM device_requests WHERE expires_at < $1",
);
/** Groups of IPv4 addresses are in no network. The CASE keeps other groups from the conversion. */
const countRequests = statement<
  { total: number; here: number; nearby: number },
  [addressGroup: string, network: string | null]
>(
  "authorizations.count_pending",
  `SELECT count(*)::int AS total, count(*) FILTER (WHERE address_group = $1)::int AS here,
     count(*) FILTER (
       WHERE CASE WHEN $2::text IS NOT NULL AND address_group LIKE '%:%' THEN address_group::inet << $2::inet END
     )::int AS nearby
   FROM device_requests`,
);
const insertRequest = statement<
  never,
  [
    deviceCodeHash: Buffer,
    userCodeHash: Buffer,
    oauthClient: string,
    machine: string,
    address: string,
    maxAge: number | null,
    at: Date,
    expiresAt: Date,
    device: string | null,
    addressGroup: string,
  ]
>(
  "authorizations.insert_request",
  `INSERT INTO device_requests (device_code_hash, user_code_hash, oauth_client, machine, address, max_age, created_at,
                                expires_at, device, address_group)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
);
const selectByUserCode = statement<DeviceRequestRow, [userCodeHash: Buffer]>(
  "authorizations.request_by_user_code",
  `SELECT ${requestColumns} FROM device_requests WHERE user_code_hash = $1`,
);
const selectByDeviceCode = statement<DeviceRequestRow, [deviceCodeHash: Buffer]>(
  "authorizations.request_by_device_code",
  `SELECT ${requestColumns} FROM device_requests WHERE device_code_hash = $1`,
);
const denyRequest = statement<{ denied: boolean }, [deviceCodeHash: Buffer, now: Date]>(
  "authorizations.deny_request",
  `UPDATE device_requests SET answer = 'denied' WHERE device_code_hash = $1 AND answer IS NULL AND expires_at > $2
   RETURNING true AS denied`,
);
const recordApproval = statement<never, [userCodeHash: Buffer]>(
  "authorizations.record_approval",
  "UPDATE device_requests SET answer = 'approved' WHERE user_code_hash = $1",
);
const notePoll = statement<never, [deviceCodeHash: Buffer, at: Date]>(
  "authorizations.note_poll",
  "UPDATE device_requests SET polled_at = $2 WHERE device_code_hash = $1",
);

/** How long expired codes are kept to notice a second use, in milliseconds. */
const codesKeptForMs = 60 * 60_000;

/** @returns false if the code was stored before */
export async function storeCode(tx: TenantTx, code: NewAuthorizationCode, now: Date): Promise<boolean> {
  const { codeHash, sessionId, oauthClient, program, redirectUri, codeChallenge, expiresAt } = code;
  await tx.query(pruneCodes, tx.tenantId, new Date(now.getTime() - codesKeptForMs));
  const stored = await tx.query(
    insertCode,
    tx.tenantId,
    codeHash,
    sessionId,
    oauthClient,
    program,
    redirectUri,
    codeChallenge,
    now,
    expiresAt,
    code.deviceId ?? null,
    code.renews === true,
  );
  return stored.length > 0;
}

/** Finds the tenant in which a code was approved. Row-level security shows only this code. */
export async function findTenantOfCode(database: Database, codeHash: Buffer): Promise<string | undefined> {
  const scope = { kind: "presented-key", keyHash: codeHash.toString("hex") } as const;
  return (await database.snapshot(scope, ({ query }) => query(selectPresented, codeHash)))[0]?.tenant_id;
}

export async function lockAuthorizationCode(tx: TenantTx, codeHash: Buffer): Promise<AuthorizationCodeRow | undefined> {
  return (await tx.query(lockCode, tx.tenantId, codeHash))[0];
}

/**
 * Locks the answer to the request with a device code. Waits while another answer is being stored.
 *
 * @returns whether anyone answered the request, including a person of another tenant
 */
export async function lockAnswer(tx: TenantTx, codeHash: Buffer): Promise<boolean> {
  const presented = codeHash.toString("hex");
  await tx.query(lockHash, presented);
  // While the hash is set, row-level security permits access to the request and its code.
  await tx.query(presentHash, presented);
  const [request] = await tx.query(selectByDeviceCode, codeHash);
  const [code] = await tx.query(selectPresented, codeHash);
  await tx.query(presentHash, "");
  return request?.answer !== null || code !== undefined;
}

/** @param issued the session that the code was exchanged for; null if it was refused */
export async function markCodeUsed(tx: TenantTx, codeHash: Buffer, at: Date, issued: string | null): Promise<void> {
  await tx.query(useCode, tx.tenantId, codeHash, at, issued);
}

/**
 * Counts a person's failed attempts with a reason. Other transactions count them after this one has ended, so that
 * attempts that arrive together exceed no limit.
 */
export async function countFailedAttempts(tx: TenantTx, userId: string, since: Date, reason: string): Promise<number> {
  await tx.query(lockGuesses, userId);
  return (await tx.query(countGuesses, tx.tenantId, userId, since, reason))[0]?.count ?? 0;
}

export interface RequestBounds {
  readonly total: number;
  /** From an IPv4 address, or a /64 of IPv6. */
  readonly fromAddress: number;
  /** From a /48 of IPv6, which one customer can have. */
  readonly fromNetwork: number;
}

/** Stores a request, unless too many are pending. Deletes expired ones. */
export function storeDeviceRequest(
  database: Database,
  request: NewDeviceRequest,
  now: Date,
  bounds: RequestBounds,
): Promise<boolean> {
  const { deviceCodeHash, userCodeHash, oauthClient, machine, address, maxAge, expiresAt, device } = request;
  const json = device === null ? null : JSON.stringify(device);
  return database.transaction({ kind: "operator" }, async ({ query }) => {
    await query(pruneRequests, now);
    const [counts] = await query(countRequests, request.addressGroup, networkOf(request.addressGroup));
    if (counts === undefined || counts.total >= bounds.total) return false;
    if (counts.here >= bounds.fromAddress || counts.nearby >= bounds.fromNetwork) return false;
    await query(
      insertRequest,
      deviceCodeHash,
      userCodeHash,
      oauthClient,
      machine,
      address,
      maxAge,
      now,
      expiresAt,
      json,
      request.addressGroup,
    );
    return true;
  });
}

/** The /48 of an IPv6 address; null for other addresses. */
function networkOf(address: string): string | null {
  const parsed = parseIpAddress(address);
  if (parsed?.version !== 6) return null;
  return `${formatIpAddress({ version: 6, bits: (parsed.bits >> 80n) << 80n })}/48`;
}

/** Finds a request by its user code. Row-level security shows only this request. */
export async function findByUserCode(database: Database, userCodeHash: Buffer): Promise<DeviceRequestRow | undefined> {
  const scope = { kind: "presented-key", keyHash: userCodeHash.toString("hex") } as const;
  return (await database.snapshot(scope, ({ query }) => query(selectByUserCode, userCodeHash)))[0];
}

/** Finds a request by its device code. Row-level security shows only this request. */
export async function findByDeviceCode(
  database: Database,
  deviceCodeHash: Buffer,
): Promise<DeviceRequestRow | undefined> {
  const scope = { kind: "presented-key", keyHash: deviceCodeHash.toString("hex") } as const;
  return (await database.snapshot(scope, ({ query }) => query(selectByDeviceCode, deviceCodeHash)))[0];
}

export async function noteDevicePoll(database: Database, deviceCodeHash: Buffer, at: Date): Promise<void> {
  const scope = { kind: "presented-key", keyHash: deviceCodeHash.toString("hex") } as const;
  await database.transaction(scope, ({ query }) => query(notePoll, deviceCodeHash, at));
}

/** @returns false if the request was answered before, or has expired */
export function denyDeviceRequest(database: Database, deviceCodeHash: Buffer, now: Date): Promise<boolean> {
  const presented = deviceCodeHash.toString("hex");
  return database.transaction({ kind: "presented-key", keyHash: presented }, async ({ query }) => {
    await query(lockHash, presented);
    // An approval stores the code before it records the answer.
    if ((await query(selectPresented, deviceCodeHash)).length > 0) return false;
    return (await query(denyRequest, deviceCodeHash, now)).length > 0;
  });
}

/** Records that the code of a request is stored, so that nobody answers the request again. */
export async function recordDeviceApproval(database: Database, userCodeHash: Buffer): Promise<void> {
  const scope = { kind: "presented-key", keyHash: userCodeHash.toString("hex") } as const;
  await database.transaction(scope, ({ query }) => query(recordApproval, userCodeHash));
}
