import { randomUUID } from "node:crypto";
import type { AgentMessage } from "@gatehouse/agent-protocol/gateway/frames";
import { heartbeatTimeoutMs } from "@gatehouse/agent-protocol/link/frames";
import type { LinkVersion } from "@gatehouse/agent-protocol/link/greeting";
import { storeGatewayReports } from "../../features/gateways/gateways.api.ts";
import { TenantRounds } from "../../platform/concurrency/tenant-rounds.ts";
import type { TenantScope } from "../../platform/db/scope.ts";
import type { LinkTransport } from "../../platform/link-transport.ts";
import { AgentChannel, type AgentChannelOptions, type TenantParts } from "../channel/agent-channel.ts";
import { GatewayConnection, type PresentedGateway } from "./gateway-connection.ts";
import { findGatewayToken } from "./gateway-tokens.queries.ts";
import * as queries from "./link-state.queries.ts";
import { TenantGateways } from "./tenant-gateways.ts";

/** The most silent gateways of a tenant that are recorded together. */
const silentBatch = 1_000;
/** A pause of this length between two checks for silent gateways is an outage: no replica may have been running. */
const outageMs = 10_000;
/**
 * After an outage, gateways are not OFFLINE before this time: they need up to 30 s to reconnect, and then send
 * heartbeats again.
 */
const reconnectMs = 45_000;
/** A replica that reports nothing for this long holds no connections any more, in milliseconds. */
const replicaTimeoutMs = 60_000;

export interface GatewayChannelOptions extends AgentChannelOptions {
  /** How long a configuration is valid without the control plane, in milliseconds; the tenant's setting if absent. */
  readonly lifeMs?: number | undefined;
  /**
   * How long open connections may last once their gateway is in maintenance, in milliseconds; five minutes if absent.
   */
  readonly drainMs?: number | undefined;
  /** How long gateways may take to reconnect after an outage, in milliseconds; 45 seconds if absent. */
  readonly reconnectMs?: number | undefined;
  /** Receives the time from a change until a gateway has applied it, in milliseconds. */
  readonly lagged?: (lagMs: number) => void;
}

/** The gateways that are connected to this replica (docs/decisions/0042-gateway-link-server.md). */
export class GatewayChannel extends AgentChannel<PresentedGateway, AgentMessage, GatewayConnection, TenantGateways> {
  readonly #options: GatewayChannelOptions;
  readonly replicaId = randomUUID();
  readonly #rounds: TenantRounds;
  /** The time of the last check for silent gateways, and of the first one since the last outage. */
  #checkedAt = Number.NEGATIVE_INFINITY;
  #checksSince = 0;

  constructor(options: GatewayChannelOptions) {
    super({ name: "gateway", invalidToken: "invalid_gateway_token" }, options);
    this.#options = options;
    this.#rounds = new TenantRounds({ log: options.log, failed: "failed to record silent gateways; will retry" });
  }

  /** Stores everything that is pending. */
  async flush(): Promise<void> {
    await Promise.all([...this.tenants.values()].map((tenant) => tenant.flush()));
  }

  /**
   * Finds the gateways of every replica that missed their heartbeats, even if their replica is gone. While no replica
   * ran, or none reached the database, no heartbeat could be stored. Silence counts only after that. The check and
   * the heartbeats use the database's time, because the clocks of replicas differ.
   */
  async detectSilence(): Promise<void> {
    const { runner } = this.#options;
    const searchedAt = await runner.sharedTime.synchronize();
    const tenantIds = await runner.database.snapshot({ kind: "operator" }, (tx) =>
      queries.tenantsToCheck(tx, silentBefore(searchedAt), searchedAt),
    );
    const countsSilence = this.#mayCountSilence(searchedAt.getTime());
    await this.#rounds.run(tenantIds, async (tenantId, waitMs) => {
      const scope = { kind: "tenant", tenantId, waitMs } as const;
      // The task may have waited: heartbeats received since the search are valid.
      const now = runner.sharedTime.now();
      // If the database's clock was ahead, a silent gateway must not stay ONLINE until the stored time.
      await runner.database.transaction(scope, ({ query }) =>
        queries.resetFutureHeartbeats({ tenantId, query }, now, silentBatch),
      );
      // A long wait can hide an outage of the database. The next check then decides.
      const isCurrent = countsSilence && now.getTime() - searchedAt.getTime() <= outageMs;
      while (isCurrent && (await this.#recordSilent(scope, now, silentBefore(now))));
    });
  }

  /** Ends checks that wait for busy tenants. */
  stopDetection(): Promise<void> {
    return this.#rounds.stop();
  }

  /** Must be called after the database answered. */
  #mayCountSilence(now: number): boolean {
    if (Math.abs(now - this.#checkedAt) > outageMs) this.#checksSince = now;
    this.#checkedAt = now;
    return now - this.#checksSince >= (this.#options.reconnectMs ?? reconnectMs);
  }

  protected async findAgent(tokenHash: Buffer): Promise<PresentedGateway | undefined> {
    const { runner, clock } = this.#options;
    const row = await findGatewayToken(runner.database, tokenHash);
    if (row === undefined) return undefined;
    const tokenEndsAt = row.ends_at === null ? undefined : Date.parse(row.ends_at);
    if (tokenEndsAt !== undefined && tokenEndsAt <= clock.now().getTime()) return undefined;
    return { tenantId: row.tenant_id, agentId: row.gateway_id, tokenHash: tokenHash.toString("hex"), tokenEndsAt };
  }

  protected newConnection(
    agent: PresentedGateway,
    transport: LinkTransport,
    sourceAddress: string,
    version: LinkVersion,
    now: number,
  ) {
    return new GatewayConnection(agent, transport, sourceAddress, version, now);
  }

  protected newTenant(parts: TenantParts): TenantGateways {
    const { lifeMs, drainMs, lagged } = this.#options;
    return new TenantGateways({ ...parts, replicaId: this.replicaId, lifeMs, drainMs, lagged });
  }

  /** @returns whether the tenant may have more silent gateways */
  async #recordSilent(scope: TenantScope, now: Date, heardBefore: Date): Promise<boolean> {
    const { runner, clock } = this.#options;
    const { tenantId, waitMs } = scope;
    const ids = await runner.database.snapshot(scope, ({ query }) =>
      queries.silentGateways({ tenantId, query }, heardBefore, silentBatch),
    );
    const reports = ids.map((gatewayId) => ({ gatewayId }));
    await storeGatewayReports(runner, tenantId, reports, clock.now(), waitMs);
    const reportedBefore = new Date(now.getTime() - replicaTimeoutMs);
    await runner.database.transaction(scope, ({ query }) =>
      Promise.all([
        queries.unwatchGateways({ tenantId, query }, ids, heardBefore),
        queries.clearReplicaGenerations({ tenantId, query }, reportedBefore),
      ]),
    );
    return ids.length === silentBatch;
  }
}

/** A gateway whose last heartbeat is earlier is silent. */
function silentBefore(now: Date): Date {
  return new Date(now.getTime() - heartbeatTimeoutMs);
}
