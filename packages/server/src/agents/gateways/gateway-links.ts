/** The channel to gateways, as far as this replica holds it (docs/decisions/0042-gateway-link.md, packages/agent-protocol/src/gateway/SPEC.md). */
import { createHash, randomUUID } from "node:crypto";
import type { AgentMessage } from "@gatehouse/agent-protocol/gateway/frames";
import { heartbeatTimeoutMs } from "@gatehouse/agent-protocol/link/frames";
import { storeGatewayReports } from "../../features/gateways/gateways.api.ts";
import { AppError } from "../../platform/app-error.ts";
import type { Clock } from "../../platform/clock.ts";
import type { CommandRunner } from "../../platform/command.ts";
import { TimeSlicedQueue } from "../../platform/concurrency/time-sliced-queue.ts";
import type { LinkListener, LinkReceiver, LinkTransport } from "../../platform/link-transport.ts";
import type { Log } from "../../platform/log.ts";
import type { OutboxEntry } from "../../platform/outbox/outbox.queries.ts";
import type { OutboxSubscriber } from "../../platform/outbox/outbox-follower.ts";
import { hashToken, isWholeToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";
import { ConnectionGate, type LinkHost, type LinkLimits } from "../channel/connection-gate.ts";
import type { DeviceSources, MovedDevice, SourceFollower } from "../sources/device-sources.ts";
import { GatewayConnection } from "./gateway-connection.ts";
import * as queries from "./link-state.queries.ts";
import type { PresentedGateway } from "./presented-gateway.ts";
import { findPresentedToken } from "./presented-token.queries.ts";
import { TenantLinks } from "./tenant-links.ts";

/** Tenants without connections are forgotten after this long, in milliseconds: until then, who comes back is sent differences. */
const idleTenantMs = 10 * 60_000;
/** Gateways that fell silent which one look takes at most. */
const silentAtOnce = 1_000;
/** A replica that said nothing for this long holds no connection any more, in milliseconds. */
const replicaGoneAfterMs = 60_000;

export interface GatewayLinksOptions {
  readonly runner: CommandRunner;
  readonly clock: Clock;
  readonly log: Log;
  readonly sources: DeviceSources;
  readonly limits?: Partial<LinkLimits> | undefined;
  /** How long configurations may be enforced without the control plane, in milliseconds; a day where absent. */
  readonly lifeMs?: number | undefined;
  /** How long connections that run may finish once their gateway is in maintenance, in milliseconds; five minutes where absent. */
  readonly drainMs?: number | undefined;
  /** Told how long it took until a gateway enforced what it should. */
  readonly lagged?: (lagMs: number) => void;
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

export class GatewayLinks implements OutboxSubscriber, SourceFollower, LinkListener<PresentedGateway> {
  readonly #options: GatewayLinksOptions;
  readonly #door: ConnectionGate<AgentMessage, GatewayConnection>;
  readonly #queue: TimeSlicedQueue;
  readonly #tenants = new Map<string, TenantLinks>();
  readonly replicaId = randomUUID();

  constructor(options: GatewayLinksOptions) {
    this.#options = options;
    const { clock, log, limits } = options;
    this.#door = new ConnectionGate({ clock, log, limits }, this.#host());
    this.#queue = new TimeSlicedQueue((error) => log.error({ err: error }, "a gateway link failed"));
  }

  /** Open connections, and gateways among them that do not enforce yet what they should. */
  get state(): { readonly connections: number; readonly unsettled: number } {
    let unsettled = 0;
    for (const tenant of this.#tenants.values()) unsettled += tenant.unsettled;
    return { connections: this.#door.size, unsettled };
  }

  /**
   * Finds out whose token it is.
   *
   * @throws AppError invalid_gateway_token, too_many_links, database_unavailable
   */
  authenticate(token: string): Promise<PresentedGateway> {
    return this.#door.admit(async () => {
      if (!token.startsWith(tokenPrefixes.gateway) || !isWholeToken(token, tokenPrefixes.gateway)) {
        throw new AppError("invalid_gateway_token");
      }
      const hash = hashToken(token);
      const row = await findPresentedToken(this.#options.runner.database, hash);
      const endsAt = row === undefined || row.ends_at === null ? undefined : Date.parse(row.ends_at);
      if (row === undefined || (endsAt !== undefined && endsAt <= this.#now())) {
        throw new AppError("invalid_gateway_token");
      }
      const { tenant_id: tenantId, gateway_id: gatewayId } = row;
      return { tenantId, gatewayId, tokenHash: hash.toString("hex"), tokenEndsAt: endsAt };
    });
  }

  open(gateway: PresentedGateway, transport: LinkTransport, sourceAddress: string): LinkReceiver {
    return this.#door.open(new GatewayConnection(gateway, transport, sourceAddress, this.#now()));
  }

  changed(entry: OutboxEntry): void {
    const tenant = this.#tenants.get(entry.tenantId);
    if (tenant === undefined) return;
    if (entry.changes.some(({ type, change }) => type === "tenant" && change === "deleted")) {
      this.#tenants.delete(entry.tenantId);
      void tenant.abandon();
      return;
    }
    tenant.changed(entry);
  }

  missed(): void {
    for (const tenant of this.#tenants.values()) tenant.lost();
  }

  get tenantIds(): Iterable<string> {
    return this.#tenants.keys();
  }

  moved(tenantId: string, devices: readonly MovedDevice[]): void {
    this.#tenants.get(tenantId)?.moved(devices);
  }

  /** What time alone brings: silence, ends of tokens, and what is to be tried again. Called every second or so. */
  tick(): void {
    this.#door.tick();
    for (const [id, tenant] of this.#tenants) {
      // A gateway that was cut comes again, or is OFFLINE.
      this.#door.dropSilent(tenant.connections);
      tenant.tick();
      if (tenant.size === 0 && this.#options.clock.elapsedMs() - tenant.usedAt > idleTenantMs) {
        this.#tenants.delete(id);
        void tenant.abandon();
      }
    }
  }

  /** Writes all that is pending. */
  async flush(): Promise<void> {
    await Promise.all([...this.#tenants.values()].map((tenant) => tenant.flush()));
  }

  /** Looks for gateways of any replica that nobody has heard of for too long, also because their replica is gone. */
  async noticeSilence(): Promise<void> {
    const { runner, clock } = this.#options;
    for (;;) {
      const now = clock.now();
      const before = new Date(now.getTime() - heartbeatTimeoutMs);
      const silent = await runner.database.snapshot({ kind: "operator" }, (tx) =>
        queries.silentGateways(tx, before, silentAtOnce),
      );
      const byTenant = new Map<string, string[]>();
      for (const { tenant_id: tenantId, gateway_id: gatewayId } of silent) {
        const ids = byTenant.get(tenantId);
        if (ids === undefined) byTenant.set(tenantId, [gatewayId]);
        else ids.push(gatewayId);
      }
      for (const [tenantId, ids] of byTenant) await this.#noteSilent(tenantId, ids, now, before);
      if (silent.length < silentAtOnce) return;
    }
  }

  /** Ends every connection; each is told when to come again, at different moments. */
  async close(): Promise<void> {
    this.#door.close();
    const jitterMs = () => this.#door.jitterMs();
    await Promise.all([...this.#tenants.values()].map((tenant) => tenant.stop(jitterMs)));
    this.#tenants.clear();
  }

  async #noteSilent(tenantId: string, ids: readonly string[], now: Date, before: Date): Promise<void> {
    const { runner } = this.#options;
    await storeGatewayReports(
      runner,
      tenantId,
      ids.map((gatewayId) => ({ gatewayId })),
      now,
    );
    const gone = new Date(now.getTime() - replicaGoneAfterMs);
    await runner.database.transaction({ kind: "tenant", tenantId }, ({ query }) =>
      Promise.all([
        queries.unwatchGateways({ tenantId, query }, ids, before),
        queries.clearReplicaGenerations({ tenantId, query }, gone),
      ]),
    );
  }

  #host(): LinkHost<AgentMessage, GatewayConnection> {
    const tenantOf = ({ gateway }: GatewayConnection) => this.#tenantOf(gateway.tenantId);
    return {
      joined: () => {
        let joined = 0;
        for (const { size } of this.#tenants.values()) joined += size;
        return joined;
      },
      join: (connection, hello) => tenantOf(connection).join(connection, hello),
      said: (connection, message) => {
        if (message.type === "heartbeat") tenantOf(connection).heartbeat(connection, message);
        else if (message.type === "applied") tenantOf(connection).applied(connection, message);
        else tenantOf(connection).failed(connection, message);
      },
      left: (connection) => this.#tenants.get(connection.gateway.tenantId)?.left(connection),
      describe: ({ gateway: { tenantId, gatewayId } }) => ({ tenantId, gatewayId }),
    };
  }

  #tenantOf(tenantId: string): TenantLinks {
    const known = this.#tenants.get(tenantId);
    if (known !== undefined) return known;
    const { runner, clock, log, sources, lifeMs, drainMs, lagged } = this.#options;
    const { replicaId } = this;
    const tenant = new TenantLinks({
      tenantId,
      replicaId,
      runner,
      clock,
      log,
      sha256,
      queue: this.#queue,
      sources,
      lifeMs,
      drainMs,
      lagged,
    });
    this.#tenants.set(tenantId, tenant);
    return tenant;
  }

  #now(): number {
    return this.#options.clock.now().getTime();
  }
}
