/** The gateways of one tenant that are connected to this replica: each is told what it should enforce, and what they say is written down. */
import { type ContentTree, contentRoot } from "@gatehouse/agent-protocol/gateway/content-tree";
import type { Applied, Failed, Heartbeat, Hello } from "@gatehouse/agent-protocol/gateway/frames";
import { heartbeatIntervalMs } from "@gatehouse/agent-protocol/link/frames";
import type { HashText } from "@gatehouse/agent-protocol/link/hash-tree";
import type { Clock } from "../../platform/clock.ts";
import type { CommandRunner } from "../../platform/command.ts";
import type { TimeSlicedQueue } from "../../platform/concurrency/time-sliced-queue.ts";
import type { Log } from "../../platform/log.ts";
import type { OutboxEntry } from "../../platform/outbox/outbox.queries.ts";
import { openSigningKey, type SigningKey } from "../channel/signing-keys.ts";
import { storableText } from "../channel/storable-text.ts";
import type { DeviceSources, MovedDevice } from "../sources/device-sources.ts";
import { discoveredAddress } from "../sources/discovered-address.ts";
import { DesiredState } from "./desired-state.ts";
import type { GatewayConnection } from "./gateway-connection.ts";
import { LinkSession, type SessionListener, type Wanted } from "./link-session.ts";
import { LinkWriter } from "./link-writer.ts";
import { tokensOfGateways } from "./presented-token.queries.ts";

/** How often a replica says that it still holds gateways, in milliseconds. */
const aliveEveryMs = 8_000;
/** After the database failed, in milliseconds. */
const retryMs = 500;
/** The longest that a timer waits before the clock is asked again, in milliseconds. */
const longestTimerMs = 60 * 60_000;

export interface TenantLinksOptions {
  readonly tenantId: string;
  readonly replicaId: string;
  readonly runner: CommandRunner;
  readonly clock: Clock;
  readonly log: Log;
  readonly sha256: HashText;
  readonly queue: TimeSlicedQueue;
  readonly sources: DeviceSources;
  readonly lifeMs: number | undefined;
  readonly drainMs: number | undefined;
  readonly lagged: ((lagMs: number) => void) | undefined;
}

export class TenantLinks {
  readonly #options: TenantLinksOptions;
  readonly #desired: DesiredState;
  readonly #writer: LinkWriter;
  /** By gateway: those that said hello. */
  readonly #connections = new Map<string, GatewayConnection>();
  /** What gateways enforce, also of those that are gone for a moment. */
  readonly #enforced = new Map<string, ContentTree>();
  /** When tokens end that were rotated away, by gateway, in milliseconds since 1970. */
  readonly #tokenEnds = new Map<string, number>();
  #key: Promise<SigningKey> | undefined;
  #refreshing: Promise<void> | undefined;
  #isStale = false;
  #isReady = false;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #notedAt = 0;
  /** By `clock.elapsedMs()`: when there last was a connection. */
  usedAt: number;

  constructor(options: TenantLinksOptions) {
    const { tenantId, replicaId, runner, clock, log, lifeMs, drainMs } = options;
    this.#options = options;
    this.usedAt = clock.elapsedMs();
    const { database, models } = runner;
    this.#desired = new DesiredState({
      tenantId,
      database,
      models,
      clock,
      ...(lifeMs === undefined ? {} : { lifeMs }),
      drainMs,
    });
    this.#writer = new LinkWriter({
      tenantId,
      replicaId,
      runner,
      clock,
      log,
      superseded: (gatewayId, connectionId) => {
        void this.#endSuperseded(gatewayId, connectionId);
      },
    });
  }

  get size(): number {
    return this.#connections.size;
  }

  get connections(): Iterable<GatewayConnection> {
    return this.#connections.values();
  }

  /** How many gateways do not enforce yet what they should. */
  get unsettled(): number {
    let count = 0;
    for (const { session } of this.#connections.values()) if (session?.isSettled === false) count += 1;
    return count;
  }

  /**
   * Takes in a connection that said hello.
   *
   * @throws AppError database_unavailable
   */
  async join(connection: GatewayConnection, hello: Hello): Promise<void> {
    const { replicaId, tenantId, sha256, clock, queue } = this.#options;
    const { gatewayId } = connection.gateway;
    this.#connections.get(gatewayId)?.end("replaced");
    this.#connections.set(gatewayId, connection);
    this.usedAt = clock.elapsedMs();
    this.#noteTokenEnd(connection);
    const [key, isThere] = await Promise.all([
      this.#signingKey(),
      this.#writer.claim({ gateway_id: gatewayId, connection_id: connection.id, replica_id: replicaId }),
      this.#isReady && !this.#isStale ? undefined : this.refresh(),
    ]);
    if (connection.isClosed) return;
    if (!isThere) return this.#end(connection, "gateway_gone");
    connection.agentGeneration = hello.enforces?.generation ?? 0;
    // It has later news than this replica, or the database was restored from a backup: which of the two, the database tells.
    if (connection.agentGeneration > this.#desired.generation) {
      this.#desired.lost();
      this.#isStale = true;
      await this.refresh();
      if (connection.isClosed) return;
    }
    connection.send({
      type: "welcome",
      signingKey: key.publicKey,
      heartbeatIntervalMs,
      now: clock.now().getTime(),
    });
    this.#writer.heard(gatewayId, clock.now());
    const { publicKey, endpoint = discoveredAddress(connection.sourceAddress) } = hello;
    const agentVersion = storableText(hello.agentVersion);
    this.#writer.report({ gatewayId, agentVersion, publicKey, endpoint, heardAt: clock.now() });
    connection.greet = () => {
      const wanted = this.#wantedOf(connection);
      // One that was made a moment ago: the news of it are on their way.
      if (connection.isClosed || connection.session !== undefined || wanted === undefined) return;
      const send = connection.send.bind(connection);
      const told = this.#listenerOf(connection);
      const now = () => clock.now().getTime();
      const session = new LinkSession({ tenantId, gatewayId, key, sha256, send, now, told }, wanted);
      connection.session = session;
      this.#noteWanted(connection, wanted, hello.enforces?.root);
      session.hello(hello.enforces, this.#enforced.get(gatewayId));
    };
    queue.add(connection.greet);
    queue.add(() => this.#noteGeneration());
  }

  /** A connection is gone. */
  left(connection: GatewayConnection): void {
    const { gatewayId } = connection.gateway;
    const { clock } = this.#options;
    if (this.#connections.get(gatewayId) !== connection) return;
    this.#connections.delete(gatewayId);
    this.#tokenEnds.delete(gatewayId);
    this.usedAt = clock.elapsedMs();
    const at = clock.now().toISOString();
    this.#writer.change({ gateway_id: gatewayId, connection_id: connection.id, disconnected_at: at }, true);
    if (this.#connections.size === 0) this.#writer.setGeneration("none");
  }

  heartbeat(connection: GatewayConnection, heartbeat: Heartbeat): void {
    const { sequence, load, roundTripTimeMs, peers, warnings = [] } = heartbeat;
    const { gatewayId } = connection.gateway;
    const { tenantId, clock, sources } = this.#options;
    const now = clock.now();
    connection.sendIfRead({ type: "heartbeat-answer", sequence });
    this.#writer.heard(gatewayId, now);
    this.#writer.change(
      {
        gateway_id: gatewayId,
        connection_id: connection.id,
        last_heartbeat: now.toISOString(),
        warnings: warnings.map(storableText),
        ...(load === undefined ? {} : { load }),
        ...(roundTripTimeMs === undefined ? {} : { round_trip_time_ms: roundTripTimeMs }),
      },
      false,
    );
    const own = this.#desired.contentOf(gatewayId)?.peers;
    for (const { peer, lastHandshake, address } of peers) {
      // A gateway tells of its own peers: of where other devices are it knows nothing.
      const deviceId = own?.get(peer) === undefined ? undefined : this.#desired.deviceIdAt(peer);
      if (deviceId === undefined || lastHandshake === undefined) continue;
      // No agent makes a device seem connected later than now; one whose clock is ahead tells of what is new to it.
      const at = new Date(Math.min(lastHandshake, now.getTime()));
      this.#writer.handshake({ device_id: deviceId, gateway_id: gatewayId, at: at.toISOString() });
      if (address !== undefined && this.#desired.sourceOf(deviceId) !== address) {
        sources.observe(tenantId, deviceId, address, at);
      }
    }
  }

  /** Devices are elsewhere now, as the database knows: they may be known to be. */
  moved(devices: readonly MovedDevice[]): void {
    const news = devices.filter(({ deviceId, sourceIp }) => {
      const known = this.#desired.sourceOf(deviceId);
      return known !== undefined && known !== sourceIp;
    });
    if (news.length === 0) return;
    this.#desired.roamed(news);
    this.wake();
  }

  applied(connection: GatewayConnection, frame: Applied): void {
    connection.session?.applied(frame);
  }

  failed(connection: GatewayConnection, frame: Failed): void {
    connection.session?.failed(frame);
  }

  /** The outbox told of a change of this tenant. */
  changed(entry: OutboxEntry): void {
    this.#desired.changed(entry);
    this.wake();
  }

  lost(): void {
    this.#desired.lost();
    this.wake();
  }

  /** There is something new: looks soon, without anybody waiting for it. */
  wake(): void {
    this.#isStale = true;
    if (this.#refreshing !== undefined || this.#isStopped || this.#connections.size === 0) return;
    void this.refresh().catch(() => undefined);
  }

  /** @throws AppError database_unavailable; then it is tried again */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#refreshAll().finally(() => {
      this.#refreshing = undefined;
      if (this.#isStale && !this.#isStopped) {
        const timer = setTimeout(() => this.wake(), this.#isReady ? 0 : retryMs);
        timer.unref();
      }
    });
    return this.#refreshing;
  }

  /** Does what time alone brings: called every second or so. */
  tick(): void {
    const now = this.#options.clock.now().getTime();
    for (const [gatewayId, endsAt] of this.#tokenEnds) {
      const connection = this.#connections.get(gatewayId);
      if (endsAt <= now && connection !== undefined) this.#end(connection, "token_revoked");
    }
    for (const connection of [...this.#connections.values()]) {
      connection.session?.tick();
    }
    if (this.#isReady && now >= this.#desired.staleAt) this.wake();
    // Others take a replica that says nothing for gone.
    if (this.#isReady && this.#options.clock.elapsedMs() - this.#notedAt > aliveEveryMs) this.#noteGeneration();
  }

  /** Writes all that is pending. */
  flush(): Promise<void> {
    return this.#writer.flush();
  }

  /** @param goodbye how long each is to stay away, in milliseconds */
  async stop(goodbye: () => number): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    for (const connection of [...this.#connections.values()]) {
      connection.end("shutting_down", goodbye());
      this.left(connection);
    }
    await this.#refreshing?.catch(() => undefined);
    await this.#writer.stop();
  }

  /** The tenant is gone. */
  async abandon(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    for (const connection of this.#connections.values()) connection.end("gateway_gone");
    this.#connections.clear();
    await this.#writer.stop();
  }

  async #refreshAll(): Promise<void> {
    const { queue, log, tenantId } = this.#options;
    while (this.#isStale || !this.#isReady) {
      this.#isStale = false;
      try {
        const { changed, told } = await this.#desired.refresh();
        const wasReady = this.#isReady;
        this.#isReady = true;
        // Whose token was rotated away comes before what the others are told.
        await this.#checkTokens(changed.length >= this.#connections.size && wasReady ? this.#connections.keys() : told);
        for (const id of changed) {
          const connection = this.#connections.get(id);
          if (connection !== undefined) queue.add(() => this.#want(connection));
        }
        queue.add(() => this.#noteGeneration());
        this.#setTimer();
      } catch (error) {
        log.warn({ err: error, tenantId }, "what gateways should enforce could not be worked out; it is tried again");
        this.#isStale = true;
        await new Promise((resolve) => setTimeout(resolve, retryMs).unref());
        if (this.#isStopped) throw error;
      }
    }
  }

  #setTimer(): void {
    clearTimeout(this.#timer);
    if (this.#isStopped) return;
    const waitMs = this.#desired.staleAt - this.#options.clock.now().getTime();
    this.#timer = setTimeout(() => this.tick(), Math.max(1, Math.min(waitMs, longestTimerMs)));
    this.#timer.unref();
  }

  async #checkTokens(ids: Iterable<string>): Promise<void> {
    const { runner, tenantId } = this.#options;
    const connected = [...ids].filter((id) => this.#connections.has(id));
    if (connected.length === 0) return;
    const tokens = await runner.database.snapshot({ kind: "tenant", tenantId }, ({ query }) =>
      tokensOfGateways({ tenantId, query }, connected),
    );
    const now = this.#options.clock.now().getTime();
    for (const id of connected) {
      const connection = this.#connections.get(id);
      if (connection === undefined) continue;
      const own = tokens.get(id);
      const endsAt = own?.get(connection.gateway.tokenHash) ?? 0;
      if (own === undefined) this.#end(connection, "gateway_gone");
      else if (endsAt <= now) this.#end(connection, "token_revoked");
      else if (endsAt === Number.POSITIVE_INFINITY) this.#tokenEnds.delete(id);
      else this.#tokenEnds.set(id, endsAt);
    }
  }

  /** Nothing could be stored of a connection: its gateway has another one, or is gone. */
  async #endSuperseded(gatewayId: string, connectionId: string): Promise<void> {
    // Where the database is away, the next news of the connection asks again.
    await this.#checkTokens([gatewayId]).catch(() => undefined);
    const connection = this.#connections.get(gatewayId);
    if (connection?.id === connectionId) this.#end(connection, "replaced");
  }

  #noteTokenEnd({ gateway: { gatewayId, tokenEndsAt } }: GatewayConnection): void {
    if (tokenEndsAt === undefined) this.#tokenEnds.delete(gatewayId);
    else this.#tokenEnds.set(gatewayId, tokenEndsAt);
  }

  #end(connection: GatewayConnection, reason: Parameters<GatewayConnection["end"]>[0]): void {
    connection.end(reason);
    const { gatewayId } = connection.gateway;
    if (reason === "gateway_gone") {
      this.#enforced.delete(gatewayId);
      this.#writer.forget(gatewayId);
    }
    this.left(connection);
  }

  #noteGeneration(): void {
    if (this.#connections.size === 0) return;
    this.#notedAt = this.#options.clock.elapsedMs();
    this.#writer.setGeneration(this.#desired.generation);
  }

  #want(connection: GatewayConnection): void {
    const { session } = connection;
    if (session === undefined) {
      connection.greet?.();
      return;
    }
    const wanted = this.#wantedOf(connection);
    if (connection.isClosed || wanted === undefined) return;
    // Noted before it is sent, so that no answer comes to what was not wanted yet.
    this.#noteWanted(connection, wanted, connection.wantedRoot);
    session.want(wanted);
  }

  #wantedOf({ gateway: { gatewayId }, agentGeneration }: GatewayConnection): Wanted | undefined {
    const { generation, life } = this.#desired;
    const content = this.#desired.contentOf(gatewayId);
    if (content === undefined || life === undefined) return undefined;
    // What is to be later than all that the agent has is so by its generation also after a backup was restored.
    return {
      content,
      generation: Math.max(generation, agentGeneration),
      expiresAt: life.until,
      lastsUntil: life.until - (life.until - life.from) / 4,
    };
  }

  /** @param enforcedRoot of what is not wanted only since now */
  #noteWanted(connection: GatewayConnection, { content, generation }: Wanted, enforcedRoot: string | undefined): void {
    const { sha256, clock } = this.#options;
    const root = contentRoot(content, sha256);
    if (root === connection.wantedRoot) return;
    const now = clock.now();
    connection.wantedRoot = root;
    connection.wantedSince = root === enforcedRoot ? undefined : now.getTime();
    this.#writer.change(
      {
        gateway_id: connection.gateway.gatewayId,
        connection_id: connection.id,
        wanted_root: root,
        wanted_generation: generation,
        ...(root === enforcedRoot ? {} : { wanted_since: now.toISOString() }),
      },
      true,
    );
  }

  #listenerOf(connection: GatewayConnection): SessionListener {
    const { gatewayId } = connection.gateway;
    const { clock, lagged } = this.#options;
    const names = { gateway_id: gatewayId, connection_id: connection.id };
    return {
      sent: (generation, root) =>
        this.#writer.change(
          { ...names, sent_root: root, sent_generation: generation, sent_at: clock.now().toISOString() },
          true,
        ),
      applied: ({ hash, root, generation, issuedAt, expiresAt }, content) => {
        const now = clock.now();
        if (content !== undefined) this.#enforced.set(gatewayId, content);
        this.#writer.change(
          {
            ...names,
            applied_hash: hash,
            applied_root: root,
            applied_generation: generation,
            applied_issued_at: issuedAt,
            applied_expires_at: new Date(expiresAt).toISOString(),
            applied_at: now.toISOString(),
            error: "",
          },
          true,
        );
        if (this.#writer.changesRecord(gatewayId, "")) this.#writer.report({ gatewayId, appliedAt: now, heardAt: now });
        if (root === connection.wantedRoot && connection.wantedSince !== undefined) {
          lagged?.(now.getTime() - connection.wantedSince);
          connection.wantedSince = undefined;
        }
      },
      failed: (reason, message) => {
        const error = storableText(`${reason}: ${message}`.slice(0, 2000));
        this.#writer.change({ ...names, error }, true);
        if (this.#writer.changesRecord(gatewayId, error))
          this.#writer.report({ gatewayId, error, heardAt: clock.now() });
      },
      ended: (reason) => this.#end(connection, reason),
    };
  }

  #signingKey(): Promise<SigningKey> {
    const { runner, tenantId, clock } = this.#options;
    this.#key ??= openSigningKey(runner.database, runner.secrets.signingKeys, tenantId, clock.now()).catch(
      (error: unknown) => {
        this.#key = undefined;
        throw error;
      },
    );
    return this.#key;
  }
}
