import { heartbeatTimeoutMs } from "@gatehouse/agent-protocol/link/frames";
import type { GatewaySync, SyncState } from "@gatehouse/contract/records/gateway-sync";
import type { SyncRow } from "./gateway-sync.queries.ts";

/** A replica that said nothing for this long holds no gateway any more, in milliseconds. */
const replicaAliveMs = 30_000;

/**
 * How far a gateway is with a generation of its tenant.
 *
 * @param generation what has to be enforced, or something later
 */
export function syncState(row: SyncRow, generation: number, now: Date): SyncState {
  if (!isConnected(row, now)) {
    // What it last applied goes on until it expires; then everything is dropped.
    const enforces = row.applied_expires_at !== null && Date.parse(row.applied_expires_at) > now.getTime();
    return enforces ? "offline" : "nothing-enforced";
  }
  if ((row.told_generation ?? 0) < generation || row.wanted_root === null) return "pending";
  if (row.wanted_root === row.applied_root) return "applied";
  if (row.error !== null && row.error !== "") return "failed";
  return row.sent_root === row.wanted_root ? "sent" : "pending";
}

/** Whether it may be that waiting helps. */
export function isUnderWay(state: SyncState): boolean {
  return state === "pending" || state === "sent";
}

/** Whether nothing is enforced by it any more that the tenant does not want. */
export function isProven(state: SyncState): boolean {
  return state === "applied" || state === "nothing-enforced";
}

function isConnected({ last_heartbeat: heard, disconnected_at: gone, told_at: told }: SyncRow, now: Date): boolean {
  if (heard === null || gone !== null || told === null) return false;
  return now.getTime() - Date.parse(heard) <= heartbeatTimeoutMs && now.getTime() - Date.parse(told) <= replicaAliveMs;
}

export function syncView(row: SyncRow, generation: number, now: Date): GatewaySync {
  const state = syncState(row, generation, now);
  const { wanted_since: wantedSince, applied_at: appliedAt } = row;
  const isSettled = row.wanted_root !== null && row.wanted_root === row.applied_root;
  const end = isSettled && appliedAt !== null ? Date.parse(appliedAt) : now.getTime();
  return {
    state,
    generation,
    wanted: point(row.wanted_generation, wantedSince ?? appliedAt),
    sent: point(row.sent_generation, row.sent_at),
    applied: point(row.applied_generation, appliedAt),
    lagMs: wantedSince === null ? null : Math.max(0, end - Date.parse(wantedSince)),
    ...(row.error === null || row.error === "" ? {} : { error: row.error }),
    warnings: isConnected(row, now) ? [...(row.warnings ?? [])] : [],
  };
}

function point(generation: number | null, since: string | null): GatewaySync["applied"] {
  return generation === null || since === null ? null : { generation, since };
}
