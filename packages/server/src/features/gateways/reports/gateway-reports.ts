/** What agents report becomes what records show: status, error, first deployment, key. Each change is audited, and told to all replicas. */
import { isDeepStrictEqual } from "node:util";
import { grantedToSystem } from "../../../platform/authorization/granted.ts";
import { type CommandRunner, runCommand } from "../../../platform/command.ts";
import { newId } from "../../../platform/ids.ts";
import { empty } from "../../../platform/outcome.ts";
import { readGatewaysById } from "../gateways.queries.ts";
import { nextStatus } from "../gateways.rules.ts";
import { gatewayView, noTokens } from "../gateways.view.ts";
import * as queries from "./gateway-reports.queries.ts";

/** What is new of one gateway; what is absent stays. */
export interface GatewayReport {
  readonly gatewayId: string;
  /** When it was last heard of. */
  readonly heardAt?: Date;
  /** A configuration was applied, at this moment. */
  readonly appliedAt?: Date;
  /** Why the last configuration was not applied. */
  readonly error?: string;
  readonly publicKey?: string;
  readonly agentVersion?: string;
  /** `host:port`; an address alone, where its link came from; or `""`. */
  readonly endpoint?: string;
}

/** How many gateways one command is about at most. */
const mostAtOnce = 200;

/**
 * Stores reports and what follows from them. Gateways that are gone are passed over; those of which nothing changes but the time of
 * the last heartbeat are left to whoever notes that.
 */
export async function storeGatewayReports(
  runner: CommandRunner,
  tenantId: string,
  reports: readonly GatewayReport[],
  at: Date,
): Promise<void> {
  for (let from = 0; from < reports.length; from += mostAtOnce) {
    await storeSome(runner, tenantId, reports.slice(from, from + mostAtOnce), at);
  }
}

async function storeSome(
  runner: CommandRunner,
  tenantId: string,
  reports: readonly GatewayReport[],
  at: Date,
): Promise<void> {
  const origin = {
    actor: { type: "system", name: "Gatehouse" },
    operation: "reportGatewayState",
    requestId: newId(),
    at,
  } as const;
  const scope = { kind: "tenant", tenantId } as const;
  await runCommand(runner, { scope, tenantId, origin, idempotency: undefined, changesAccess: true }, async (tx) => {
    const byId = new Map(reports.map((report) => [report.gatewayId, report]));
    const rows = await queries.lockReported(tx, [...byId.keys()]);
    const changed = rows.flatMap((row) => changedRow(row, byId.get(row.id), at) ?? []);
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

/** @returns undefined where nothing changes that is worth telling */
function changedRow(
  row: queries.ReportedRow,
  report: GatewayReport | undefined,
  now: Date,
): queries.ReportedRow | undefined {
  if (report === undefined) return undefined;
  const { heardAt, appliedAt, error = row.error, publicKey, agentVersion, endpoint } = report;
  const heard = heardAt?.toISOString();
  const reported = {
    ...row,
    last_online: heard !== undefined && (row.last_online ?? "") < heard ? heard : row.last_online,
    deployed_on: row.deployed_on ?? appliedAt?.toISOString() ?? null,
    error: appliedAt === undefined ? error : "",
    public_key: publicKey ?? row.public_key,
    agent_version: agentVersion ?? row.agent_version,
    reported_endpoint: endpoint ?? row.reported_endpoint,
  };
  const next = { ...reported, status: nextStatus(reported, now) };
  return isDeepStrictEqual({ ...next, last_online: row.last_online }, row) ? undefined : next;
}
