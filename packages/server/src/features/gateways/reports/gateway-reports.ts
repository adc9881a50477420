/**
 * Updates gateway records by agents' reports: status, error, first deployment and key. Each change is audited and
 * published to all replicas.
 */
import { isDeepStrictEqual } from "node:util";
import { type KeyClaim, keyAfterClaim, keyClaimFault, type LinkToken } from "@gatehouse/agent-protocol/link/key-proof";
import { grantedToSystem } from "../../../platform/authorization/granted.ts";
import { type CommandRunner, runCommand } from "../../../platform/command.ts";
import type { TenantScope } from "../../../platform/db/scope.ts";
import { newId } from "../../../platform/ids.ts";
import { keyColumnsOf, knownKeyOf } from "../../../platform/known-keys.ts";
import { empty } from "../../../platform/outcome.ts";
import { isInFuture } from "../../../platform/stored-times.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { readGatewaysById } from "../gateways.queries.ts";
import { nextStatus } from "../gateways.rules.ts";
import { gatewayView, noTokens } from "../gateways.view.ts";
import * as queries from "./gateway-reports.queries.ts";

/** A report about one gateway. Missing fields do not change. */
export interface GatewayReport {
  readonly gatewayId: string;
  /** When the gateway was last heard from, by the shared time. */
  readonly heardAt?: Date;
  /** When a configuration was applied. */
  readonly appliedAt?: Date;
  /** The reason why the last configuration was not applied. */
  readonly error?: string;
  /** SHA-256 of the token with which the agent connected, in hexadecimal. */
  readonly tokenHash?: string;
  /** The key that the agent reports, and what it has proved about it. */
  readonly key?: KeyClaim;
  readonly agentVersion?: string;
  /** `host:port`; only an address, the source of the gateway's link; or `""`. */
  readonly endpoint?: string;
}

/** The number of gateways that one command updates at most. */
const maxPerCommand = 200;

/**
 * Stores reports and their consequences. Skips deleted gateways, and gateways for which only the time of the last
 * heartbeat changes: the batch of heartbeats stores these.
 *
 * @param waitMs how long to wait for a lock, in milliseconds; absent if no other tenant waits meanwhile
 */
export async function storeGatewayReports(
  runner: CommandRunner,
  tenantId: string,
  reports: readonly GatewayReport[],
  at: Date,
  waitMs?: number,
): Promise<void> {
  const scope = { kind: "tenant", tenantId, waitMs } as const;
  for (let from = 0; from < reports.length; from += maxPerCommand) {
    await storeSome(runner, scope, reports.slice(from, from + maxPerCommand), at);
  }
}

async function storeSome(
  runner: CommandRunner,
  scope: TenantScope,
  reports: readonly GatewayReport[],
  at: Date,
): Promise<void> {
  const { tenantId } = scope;
  const origin = {
    actor: { type: "system", name: "Gatehouse" },
    operation: "reportGatewayState",
    requestId: newId(),
    at,
  } as const;
  await runCommand(runner, { scope, tenantId, origin, idempotency: undefined, changesAccess: true }, async (tx) => {
    const byId = new Map(reports.map((report) => [report.gatewayId, report]));
    const rows = await queries.lockReported(tx, [...byId.keys()]);
    const tokens = await readTokens(tx, byId, at);
    ignoreRevokedTokens(tokens, byId);
    await refuseTakenKeys(tx, rows, byId);
    refuseUnprovedKeys(rows, byId, tokens, at);
    const now = runner.sharedTime.now();
    const changed = rows.flatMap((row) => changedRow(row, byId.get(row.id), now) ?? []);
    if (changed.length === 0) return empty();
    const ids = changed.map(({ id }) => id);
    const before = new Map((await readGatewaysById(tx, ids)).map((row) => [row.id, gatewayView(row, noTokens)]));
    await queries.storeReported(tx, grantedToSystem(), changed);
    for (const row of await readGatewaysById(tx, ids)) {
      tx.record({
        type: "gateway",
        id: row.id,
        name: row.gateway.name,
        before: before.get(row.id),
        after: gatewayView(row, noTokens),
      });
    }
    return empty();
  });
}

/** Reads the states of the presented tokens. Callers must hold the locks of the gateways: a rotation waits for them. */
async function readTokens(
  tx: TenantTx,
  reports: ReadonlyMap<string, GatewayReport>,
  at: Date,
): Promise<ReadonlyMap<string, LinkToken | null>> {
  const presented = Array.from(reports.values()).flatMap(({ gatewayId, tokenHash }) =>
    tokenHash === undefined ? [] : [{ gatewayId, tokenHash }],
  );
  return presented.length === 0 ? new Map() : queries.presentedTokens(tx, presented, at);
}

/** Removes the contents of `hello` from reports if the token was revoked since. */
function ignoreRevokedTokens(tokens: ReadonlyMap<string, LinkToken | null>, reports: Map<string, GatewayReport>): void {
  for (const [id, token] of tokens) {
    if (token !== null) continue;
    const { appliedAt, error } = reports.get(id) ?? {};
    reports.set(id, {
      gatewayId: id,
      ...(appliedAt === undefined ? {} : { appliedAt }),
      ...(error === undefined ? {} : { error }),
    });
  }
}

/**
 * Removes keys from reports that another record got since the gateway's `hello`, which the link checks first. The
 * gateway is in error until it reports its own key.
 */
async function refuseTakenKeys(
  tx: TenantTx,
  rows: readonly queries.ReportedRow[],
  reports: Map<string, GatewayReport>,
): Promise<void> {
  const claims = rows.flatMap((row) => {
    const report = reports.get(row.id);
    const isNew = report?.key !== undefined && report.key.publicKey !== row.public_key;
    return isNew ? [{ report, publicKey: report.key.publicKey }] : [];
  });
  if (claims.length === 0) return;
  const owners = await queries.ownersOfKeys(tx, [...new Set(claims.map(({ publicKey }) => publicKey))]);
  const taken = new Map(owners.map(({ id, public_key: key }) => [key, id]));
  for (const { report, publicKey } of claims) {
    const owner = taken.get(publicKey);
    taken.set(publicKey, owner ?? report.gatewayId);
    if (owner === undefined) continue;
    refuseKey(reports, report, `Another gateway or device has this WireGuard public key (${publicKey}).`);
  }
}

/**
 * Removes keys that the gateway may not have any more. Since `hello`, another replica may have stored another key, or
 * the token may have been rotated.
 */
function refuseUnprovedKeys(
  rows: readonly queries.ReportedRow[],
  reports: Map<string, GatewayReport>,
  tokens: ReadonlyMap<string, LinkToken | null>,
  at: Date,
): void {
  for (const row of rows) {
    const report = reports.get(row.id);
    if (report?.key === undefined) continue;
    const token = tokens.get(row.id) ?? "former";
    const fault = keyClaimFault(knownKeyOf(row), report.key, token, at.getTime());
    if (fault === undefined) continue;
    const text =
      fault === "former_token"
        ? "The agent reported another key with a token that was rotated"
        : "The agent did not prove that it may replace the gateway's key";
    refuseKey(reports, report, `${text} (${report.key.publicKey}).`);
  }
}

function refuseKey(reports: Map<string, GatewayReport>, report: GatewayReport, text: string): void {
  const { key: _refused, appliedAt: _applied, ...rest } = report;
  reports.set(report.gatewayId, { ...rest, error: `key_refused: ${text}` });
}

/** Returns the later heartbeat. Replaces a stored time in the future. */
function laterHeartbeat(stored: string | null, heardAt: Date | undefined, now: Date): string | null {
  if (heardAt === undefined) return stored;
  const isLater = stored === null || new Date(stored) < heardAt || isInFuture(new Date(stored), now);
  return isLater ? heardAt.toISOString() : stored;
}

/** @param now the shared time @returns undefined if no audited field changes */
function changedRow(
  row: queries.ReportedRow,
  report: GatewayReport | undefined,
  now: Date,
): queries.ReportedRow | undefined {
  if (report === undefined) return undefined;
  const { heardAt, appliedAt, error = row.error, key, agentVersion, endpoint } = report;
  const reported = {
    ...row,
    last_online: laterHeartbeat(row.last_online, heardAt, now),
    deployed_on: row.deployed_on ?? appliedAt?.toISOString() ?? null,
    error: appliedAt === undefined ? error : "",
    ...(key === undefined ? {} : keyColumnsOf(keyAfterClaim(knownKeyOf(row), key))),
    agent_version: agentVersion ?? row.agent_version,
    reported_endpoint: endpoint ?? row.reported_endpoint,
  };
  const next = { ...reported, status: nextStatus(reported, now) };
  return isDeepStrictEqual({ ...next, last_online: row.last_online }, row) ? undefined : next;
}
