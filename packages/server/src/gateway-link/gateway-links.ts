/** The channel to gateways, as far as this replica holds it (docs/decisions/0042-gateway-link.md, packages/contract/src/gateway-link/SPEC.md). */
import { createHash, randomUUID } from "node:crypto";
import { heartbeatTimeoutMs } from "@gatehouse/contract/gateway-link/frames";
import { storeGatewayReports } from "../features/gateways/gateways.api.ts";
import { AppError } from "../platform/app-error.ts";
import type { Clock } from "../platform/clock.ts";
import type { CommandRunner } from "../platform/command.ts";
import type { Log } from "../platform/log.ts";
import type { OutboxEntry } from "../platform/outbox/outbox.queries.ts";
import type { OutboxSubscriber } from "../platform/outbox/outbox-follower.ts";
import { hashToken, isWholeToken, tokenPrefixes } from "../platform/secrets/tokens.ts";
import { LinkConnection, type LinkTransport } from "./link-connection.ts";
import * as queries from "./link-state.queries.ts";
import type { PresentedGateway } from "./presented-gateway.ts";
import { findPresentedToken } from "./presented-token.queries.ts";
import { TenantLinks } from "./tenant-links.ts";
import { Turns } from "./turns.ts";

/** Whoever says no hello for this long is let go, in milliseconds. */
const helloTimeoutMs = 10_000;
/** Tenants without connections are forgotten after this long, in milliseconds: until then, who comes back is sent differences. */
const idleTenantMs = 10 * 60_000;
/** Gateways that fell silent which one look takes at most. */
const silentAtOnce = 1_000;
/** A replica that said nothing for this long holds no connection any more, in milliseconds. */
const replicaGoneAfterMs = 60_000;

export interface GatewayLinkLimits {
  /** Connections at most. */
  readonly connections: number;
  /** Tokens that are looked up at a time; others wait, and of those that wait too long some are sent away. */
  readonly lookUps: number;
  readonly waitingLookUps: number;
}

export const gatewayLinkLimits: GatewayLinkLimits = { connections: 20_000, lookUps: 4, waitingLookUps: 10_000 };

export interface GatewayLinksOptions {
  readonly runner: CommandRunner;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits?: Partial<GatewayLinkLimits>;
  /** How long configurations may be enforced without the control plane, in milliseconds; a day where absent. */
  readonly lifeMs?: number | undefined;
  /** How long connections that run may finish once their gateway is in maintenance, in milliseconds; five minutes where absent. */
  readonly drainMs?: number | undefined;
  /** Told how long it took until a gateway enforced what it should. */
  readonly lagged?: (lagMs: number) => void;
}

/** What an open connection is told by its transport. */
export interface LinkReceiver {
  received(text: string): void;
  /** Something came that is no text, or was too long. */
  violated(): void;
  closed(): void;
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

export class GatewayLinks implements OutboxSubscriber {
  readonly #options: GatewayLinksOptions;
  readonly #limits: GatewayLinkLimits;
  readonly #turns: Turns;
  readonly #tenants = new Map<string, TenantLinks>();
  /** Connections that have not said hello. */
  readonly #strangers = new Set<LinkConnection>();
  readonly replicaId = randomUUID();
  #lookUps = 0;
  readonly #waiting: (() => void)[] = [];
  #isClosed = false;

  constructor(options: GatewayLinksOptions) {
    this.#options = options;
    this.#limits = { ...gatewayLinkLimits, ...options.limits };
    this.#turns = new Turns((error) => options.log.error({ err: error }, "a gateway link failed"));
  }

  /** Open connections, and gateways among them that do not enforce yet what they should. */
  get state(): { readonly connections: number; readonly unsettled: number } {
    let connections = this.#strangers.size;
    let unsettled = 0;
    for (const tenant of this.#tenants.values()) {
      connections += tenant.size;
      unsettled += tenant.unsettled;
    }
    return { connections, unsettled };
  }

  /**
   * Finds out whose token it is.
   *
   * @throws AppError invalid_gateway_token, too_many_links, database_unavailable
   */
  async authenticate(token: string): Promise<PresentedGateway> {
    if (this.#isClosed || this.state.connections >= this.#limits.connections) throw this.#overloaded();
    if (!isWholeToken(token, tokenPrefixes.gateway) || !token.startsWith(tokenPrefixes.gateway)) {
      throw new AppError("invalid_gateway_token");
    }
    const hash = hashToken(token);
    const row = await this.#inTurn(() => findPresentedToken(this.#options.runner.database, hash));
    const endsAt = row === undefined || row.ends_at === null ? undefined : Date.parse(row.ends_at);
    if (row === undefined || (endsAt !== undefined && endsAt <= this.#now()))
      throw new AppError("invalid_gateway_token");
    const { tenant_id: tenantId, gateway_id: gatewayId } = row;
    return { tenantId, gatewayId, tokenHash: hash.toString("hex"), tokenEndsAt: endsAt };
  }

  open(gateway: PresentedGateway, transport: LinkTransport): LinkReceiver {
    const connection = new LinkConnection(gateway, transport, this.#now());
    this.#strangers.add(connection);
    if (this.#isClosed) connection.end("shutting_down", this.#jitterMs());
    return {
      received: (text) => this.#received(connection, text),
      violated: () => this.#end(connection),
      closed: () => this.#closed(connection),
    };
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

  /** What time alone brings: silence, ends of tokens, and what is to be tried again. Called every second or so. */
  tick(): void {
    const now = this.#now();
    for (const stranger of this.#strangers) {
      if (now - stranger.openedAt > helloTimeoutMs) this.#end(stranger);
    }
    for (const [id, tenant] of this.#tenants) {
      for (const connection of [...tenant.connections]) {
        // A cut that nobody was told of: the gateway comes again, or is OFFLINE.
        if (now - connection.heardAt <= heartbeatTimeoutMs) continue;
        connection.drop();
        tenant.left(connection);
      }
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
    this.#isClosed = true;
    for (const stranger of this.#strangers) stranger.end("shutting_down", this.#jitterMs());
    this.#strangers.clear();
    const jitterMs = () => this.#jitterMs();
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

  #received(connection: LinkConnection, text: string): void {
    if (connection.isClosed) return;
    const now = this.#now();
    if (connection.isFlooding(now)) {
      this.#end(connection);
      return;
    }
    const read = connection.reader.read(text);
    if (read.kind === "part") return;
    if (read.kind === "fault") {
      const { tenantId, gatewayId } = connection.gateway;
      this.#options.log.warn({ tenantId, gatewayId, fault: read.fault }, "a gateway's agent broke the protocol");
      this.#end(connection);
      return;
    }
    connection.heardAt = now;
    const { message } = read;
    const tenant = this.#tenantOf(connection.gateway.tenantId);
    if (message.type === "hello") {
      if (connection.hasSaidHello) {
        this.#end(connection);
        return;
      }
      connection.hasSaidHello = true;
      this.#strangers.delete(connection);
      tenant.join(connection, message).catch((error: unknown) => {
        this.#options.log.warn({ err: error }, "a gateway could not be taken in");
        connection.end("overloaded", this.#jitterMs());
        tenant.left(connection);
      });
      return;
    }
    if (!connection.hasSaidHello) {
      this.#end(connection);
      return;
    }
    if (message.type === "heartbeat") tenant.heartbeat(connection, message);
    else if (message.type === "applied") tenant.applied(connection, message);
    else tenant.failed(connection, message);
  }

  #end(connection: LinkConnection): void {
    connection.end("protocol", this.#jitterMs());
    this.#closed(connection);
  }

  #closed(connection: LinkConnection): void {
    this.#strangers.delete(connection);
    connection.drop();
    this.#tenants.get(connection.gateway.tenantId)?.left(connection);
  }

  #tenantOf(tenantId: string): TenantLinks {
    const known = this.#tenants.get(tenantId);
    if (known !== undefined) return known;
    const { runner, clock, log, lifeMs, drainMs, lagged } = this.#options;
    const { replicaId } = this;
    const tenant = new TenantLinks({
      tenantId,
      replicaId,
      runner,
      clock,
      log,
      sha256,
      turns: this.#turns,
      lifeMs,
      drainMs,
      lagged,
    });
    this.#tenants.set(tenantId, tenant);
    return tenant;
  }

  /** A few at a time, in the order in which they came: a crowd that comes back leaves connections of the database to requests. */
  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#lookUps >= this.#limits.lookUps) {
      if (this.#waiting.length >= this.#limits.waitingLookUps) throw this.#overloaded();
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else this.#lookUps += 1;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#lookUps -= 1;
      else next();
    }
  }

  #overloaded(): AppError {
    return new AppError("too_many_links", { retryAfterSeconds: Math.ceil(this.#jitterMs() / 1_000) });
  }

  /** The more there are, the longer the time over which they come again. */
  #jitterMs(): number {
    const spreadMs = Math.min(30_000, 1_000 + this.state.connections * 4);
    return Math.round(500 + Math.random() * spreadMs);
  }

  #now(): number {
    return this.#options.clock.now().getTime();
  }
}
