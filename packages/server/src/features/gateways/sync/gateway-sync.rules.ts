import { heartbeatTimeoutMs } from "@gatehouse/agent-protocol/link/frames";
import type { GatewaySync, SyncState } from "@gatehouse/contract/records/gateway-sync";
import type { ScopeOfRequest, SyncRow } from "./gateway-sync.queries.ts";

/** The time without a heartbeat after which a replica counts as stopped, in milliseconds. */
const replicaAliveMs = 30_000;

/** The current time by two clocks. */
export interface SyncTimes {
  /** The time by the replica's clock. */
  readonly now: Date;
  /** The shared time, as used for heartbeats. */
  readonly shared: Date;
}

/**
 * The progress of a gateway towards a generation of its tenant.
 *
 * @param generation the generation to enforce, or a later one
 */
export function syncState(row: SyncRow, generation: number, { now, shared }: SyncTimes): SyncState {
  if (!isConnected(row, shared)) {
    // The last applied configuration stays in force until it expires. After that the gateway drops all traffic.
    return enforces(row, now) ? "offline" : "nothing-enforced";
  }
  if ((row.told_generation ?? 0) < generation || row.wanted_root === null) return "pending";
  if (row.wanted_root === row.applied_root) return "applied";
  if (row.error !== null && row.error !== "") return "failed";
  return row.sent_root === row.wanted_root ? "sent" : "pending";
}

/** Whether waiting may help. */
export function isUnderWay(state: SyncState): boolean {
  return state === "pending" || state === "sent";
}

/** Whether the gateway enforces what the tenant wants. A gateway that is not connected proves nothing. */
export function isProven(state: SyncState): boolean {
  return state === "applied";
}

/**
 * Whether a gateway must confirm a change. Every gateway is concerned whose configuration the change might affect. A
 * connected gateway is also concerned until its replica has found that the configuration did not change.
 */
export function isConcerned(
  row: SyncRow,
  { generation, gatewayIds, isGeneral }: ScopeOfRequest,
  { now, shared }: SyncTimes,
): boolean {
  if (gatewayIds.has(row.id) || (isGeneral && enforces(row, now))) return true;
  if (!isConnected(row, shared)) return false;
  const isOffered = generation !== undefined && (row.told_generation ?? 0) >= generation;
  const isEarlier = isOffered && row.wanted_generation !== null && row.wanted_generation < generation;
  // A gateway that still has to apply an earlier change is not waited for.
  return !isEarlier || row.wanted_root === row.applied_root;
}

function enforces({ applied_expires_at: expiresAt }: SyncRow, now: Date): boolean {
  return expiresAt !== null && Date.parse(expiresAt) > now.getTime();
}

function isConnected({ last_heartbeat: heard, disconnected_at: gone, told_at: told }: SyncRow, shared: Date): boolean {
  if (heard === null || gone !== null || told === null) return false;
  const ageOf = (time: string) => shared.getTime() - Date.parse(time);
  return ageOf(heard) <= heartbeatTimeoutMs && ageOf(told) <= replicaAliveMs;
}

export function syncView(row: SyncRow, generation: number, times: SyncTimes): GatewaySync {
  const state = syncState(row, generation, times);
  const { wanted_since: wantedSince, applied_at: appliedAt } = row;
  const isSettled = row.wanted_root !== null && row.wanted_root === row.applied_root;
  const end = isSettled && appliedAt !== null ? Date.parse(appliedAt) : times.now.getTime();
  return {
    state,
    generation,
    wanted: point(row.wanted_generation, wantedSince ?? appliedAt),
    sent: point(row.sent_generation, row.sent_at),
    applied: point(row.applied_generation, appliedAt),
    lagMs: wantedSince === null ? null : Math.max(0, end - Date.parse(wantedSince)),
    ...(row.error === null || row.error === "" ? {} : { error: row.error }),
    warnings: isConnected(row, times.shared) ? [...(row.warnings ?? [])] : [],
  };
}

function point(generation: number | null, since: string | null): GatewaySync["applied"] {
  return generation === null || since === null ? null : { generation, since };
}
