import { configurationFrames } from "@gatehouse/agent-protocol/gateway/configuration-frames";
import { type ContentTree, contentRoot } from "@gatehouse/agent-protocol/gateway/content-tree";
import { contentForVersion } from "@gatehouse/agent-protocol/gateway/earlier-versions";
import type { AgentMessage, Heartbeat, Hello, PeerReport } from "@gatehouse/agent-protocol/gateway/frames";
import type { WantedConfiguration } from "@gatehouse/agent-protocol/gateway/server-link";
import { heartbeatIntervalMs } from "@gatehouse/agent-protocol/link/frames";
import type { KeyClaim, KeyClaimFault } from "@gatehouse/agent-protocol/link/key-proof";
import type { SigningKey } from "../../agent-identity/signing-keys.ts";
import { ClockTimer } from "../../platform/concurrency/clock-timer.ts";
import { CoalescedTask } from "../../platform/concurrency/coalesced-task.ts";
import type { Steps } from "../../platform/concurrency/tenant-turns.ts";
import type { OutboxEntry } from "../../platform/outbox/outbox.queries.ts";
import type { TenantAgents, TenantParts } from "../channel/agent-channel.ts";
import { clockToleranceMs, orderToFollow } from "../channel/configuration-timing.ts";
import type { LaterMessage } from "../channel/connection-gate.ts";
import { ConnectionRegistry } from "../channel/connection-registry.ts";
import type { MovedDevice } from "../sources/device-sources.ts";
import { discoveredAddress } from "../sources/discovered-address.ts";
import { AwaitedGenerations } from "./awaited-generations.ts";
import { DesiredState } from "./desired-state.ts";
import type { GatewayConnection, GatewayReason } from "./gateway-connection.ts";
import { GatewaySession, type GatewaySessionListener } from "./gateway-session.ts";
import { LinkRecorder } from "./link-recorder.ts";
import { TokenExpiry } from "./token-expiry.ts";

/**
 * How long a tenant without connections is retained, in milliseconds. Until then, gateways that return get
 * differences.
 */
const idleMs = 10 * 60_000;
/** How often a replica reports that it holds gateways, in milliseconds. */
const aliveIntervalMs = 8_000;
/** The time to the next attempt after the database failed, in milliseconds. */
const retryMs = 500;
/** The peers of a heartbeat that are handled at once. */
const peersInStep = 100;

export interface TenantGatewaysOptions extends TenantParts {
  readonly replicaId: string;
  readonly lifeMs: number | undefined;
  readonly drainMs: number | undefined;
  readonly lagged: ((lagMs: number) => void) | undefined;
}

/**
 * The gateways of one tenant that are connected to this replica: each is offered the content that it should enforce.
 */
export class TenantGateways implements TenantAgents<AgentMessage, GatewayConnection> {
  readonly connections = new ConnectionRegistry<GatewayReason, GatewayConnection>();
  readonly #options: TenantGatewaysOptions;
  readonly #desired: DesiredState;
  readonly #recorder: LinkRecorder;
  readonly #tokens: TokenExpiry;
  readonly #updates: CoalescedTask;
  readonly #timer: ClockTimer;
  readonly #generations = new AwaitedGenerations();
  /** The content that each gateway enforces, including gateways that are disconnected for a moment. */
  readonly #enforced = new Map<string, ContentTree>();
  /** The gateways whose content changed and was not offered yet, and those whose records changed. */
  readonly #unoffered = { changed: new Set<string>(), named: new Set<string>() };
  /** The gateways in entries of the outbox since the last update: their tokens may be revoked. */
  readonly #unchecked = new Set<string>();
  /** Whether any token may be revoked, because entries of the outbox were missed. */
  #mustCheckAll = false;
  /** Whether a change is known that the desired states do not reflect. */
  #isStale = true;
  /** Whether the desired states were ever loaded. */
  #isLoaded = false;
  /** The generation up to which the connected gateways were offered the content that they should enforce. */
  #offeredGeneration = 0;
  /** When a gateway was last connected, by `clock.elapsedMs()`. */
  #usedAt: number;
  /** When this replica last reported its generation, by `clock.elapsedMs()`. */
  #reportedAt = 0;

  constructor(options: TenantGatewaysOptions) {
    const { tenantId, replicaId, runner, clock, log, lifeMs, drainMs } = options;
    const { database, models } = runner;
    this.#options = options;
    this.#usedAt = clock.elapsedMs();
    this.#desired = new DesiredState({
      tenantId,
      database,
      models,
      clock,
      evaluator: runner.evaluator,
      sha256: options.sha256,
      versionsOf: (gatewayId) => new Set(this.connections.allOf(gatewayId).map(({ version }) => version)),
      lifeMs,
      drainMs,
    });
    this.#tokens = new TokenExpiry(tenantId, database);
    this.#timer = new ClockTimer(clock, () => this.tick());
    this.#recorder = new LinkRecorder({
      tenantId,
      replicaId,
      runner,
      clock,
      log,
      superseded: (gatewayId, connectionId) => {
        void this.#endSuperseded(gatewayId, connectionId);
      },
    });
    this.#updates = new CoalescedTask({
      run: () => this.#update(),
      retryMs,
      failed: (error) => {
        if (this.#desired.isStopped) return;
        log.warn({ err: error, tenantId }, "failed to compute desired states; will retry");
      },
    });
  }

  get isIdle(): boolean {
    return this.connections.size === 0 && this.#options.clock.elapsedMs() - this.#usedAt > idleMs;
  }

  async join(connection: GatewayConnection, hello: Hello, claim: KeyClaim): Promise<void> {
    const { clock, queue, signingKey, jitterMs } = this.#options;
    const { enforces } = hello;
    connection.agentGeneration = enforces === null ? 0 : orderToFollow(enforces, clock.now().getTime()).generation;
    if (!Number.isSafeInteger(connection.agentGeneration)) return this.#end(connection, "protocol");
    this.#usedAt = clock.elapsedMs();
    const surplus = this.connections.arrive(connection, (each) => this.#replacedKeyFault(each) !== undefined);
    if (surplus !== undefined) {
      surplus.refuse("overloaded", jitterMs());
      this.left(surplus);
    }
    if (connection.isClosed) return;
    this.#learnKey(connection);
    const [key] = await Promise.all([signingKey(), this.#upToDate()]);
    if (connection.isClosed) return;
    if (connection.agentGeneration > this.#desired.generation) await this.#catchUp();
    await this.#desired.prepare(connection.agent.agentId, connection.version);
    if (connection.isClosed) return;
    await this.#checkIntroducingToken(connection, claim);
    if (connection.isClosed || (await this.#refuseKey(connection, claim))) return;
    connection.isClaimed = true;
    const tokenEndsAt = await this.#recorder.claim(connection, hello);
    if (connection.isClosed) return;
    const now = clock.now().getTime();
    if (connection.tokenEndsBy(tokenEndsAt ?? 0) <= now) {
      connection.isClaimed = false;
      return this.#end(connection, tokenEndsAt === undefined ? "gateway_gone" : "token_revoked");
    }
    // The token may have been rotated meanwhile.
    if (await this.#refuseKey(connection, claim)) return;
    // Only now: a connection whose key or token is refused must not end the rightful one.
    this.connections.add(connection);
    const handovers = key.handovers.length === 0 ? {} : { handovers: [...key.handovers] };
    connection.send({ type: "welcome", signingKey: key.publicKey, ...handovers, heartbeatIntervalMs, now });
    this.#recorder.connected(connection, hello, claim);
    connection.greet = () => this.#greet(connection, hello, key);
    queue.add(connection.greet);
    queue.add(() => this.#reportGeneration());
  }

  received(connection: GatewayConnection, message: LaterMessage<AgentMessage>): Steps | undefined {
    if (message.type === "heartbeat") return this.#heartbeat(connection, message);
    if (message.type === "applied") connection.session?.applied(message);
    else connection.session?.failed(message);
    return undefined;
  }

  left(connection: GatewayConnection): void {
    if (!this.connections.delete(connection)) return;
    this.#usedAt = this.#options.clock.elapsedMs();
    // The end of a refused connection would replace the end of the former one, which may not be stored yet.
    if (connection.isClaimed) this.#recorder.disconnected(connection);
    if (this.connections.size === 0) this.#recorder.setGeneration("none");
  }

  moved(devices: readonly MovedDevice[]): void {
    if (this.#desired.moved(devices)) this.#requestUpdate();
  }

  changed(entry: OutboxEntry): void {
    this.#desired.changed(entry);
    this.#generations.reached(entry.generation);
    this.#requestUpdate();
    const named = entry.changes.flatMap(({ type, id }) => (type === "gateway" ? [id] : []));
    for (const gatewayId of named) this.#unchecked.add(gatewayId);
    // A revoked token does not wait for an update that is in progress. If this fails, the next update checks it.
    void this.#checkTokens(named).catch(() => undefined);
  }

  missed(): void {
    this.#desired.missed();
    this.#requestUpdate();
  }

  tick(): void {
    const { clock } = this.#options;
    const now = clock.now().getTime();
    for (const connection of [...this.connections]) {
      if (connection.tokenEndsAt <= now) this.#end(connection, "token_revoked");
    }
    this.connections.tick();
    if (!this.#isLoaded) return;
    if (this.#desired.isDueAt(now)) this.#requestUpdate();
    // Other replicas take a replica that reports nothing for gone.
    if (clock.elapsedMs() - this.#reportedAt > aliveIntervalMs) this.#reportGeneration();
  }

  /** Stores everything that is pending. */
  flush(): Promise<void> {
    return this.#recorder.flush();
  }

  async stop(retryAfterMs: () => number): Promise<void> {
    this.#timer.stop();
    this.#desired.stop();
    for (const connection of [...this.connections, ...this.connections.arriving]) {
      connection.end("shutting_down", retryAfterMs());
      this.left(connection);
    }
    await this.#updates.stop();
    await this.#recorder.stop();
  }

  async abandon(): Promise<void> {
    this.#timer.stop();
    this.#desired.stop();
    this.connections.endAll("gateway_gone");
    await this.#updates.stop();
    await this.#recorder.stop();
  }

  /** Updates the desired states soon. Without connected gateways, the next one to connect waits for the update. */
  #requestUpdate(): void {
    this.#isStale = true;
    if (this.connections.size > 0) this.#updates.request();
  }

  /** Resolves once the desired states reflect every change that this replica knows of. */
  async #upToDate(): Promise<void> {
    if (this.#isStale) this.#updates.request();
    if (this.#isStale || !this.#isLoaded) await this.#updates.settled();
  }

  /**
   * Reflects the tenant's generation. An agent that claims a later one than this replica knows may have seen later
   * changes, or the database was restored from a backup. Agents can claim any number, so the claim alone causes no
   * reload.
   */
  async #catchUp(): Promise<void> {
    const { tenantId, runner } = this.#options;
    const before = this.#desired.generation;
    const generation = await runner.generations.current(tenantId);
    if (generation === undefined || generation === before) return;
    if (generation > before) {
      await this.#generations.wait(generation);
      await this.#updates.settled();
      if (this.#desired.generation >= generation) return;
    }
    this.#desired.missed();
    this.#isStale = true;
    await this.#upToDate();
  }

  async #update(): Promise<void> {
    const { queue } = this.#options;
    this.#isStale = false;
    try {
      const refreshed = await this.#desired.refresh();
      const { generation } = this.#desired;
      // If the database fails below, the next update offers what this one computed.
      const { changed, named } = this.#unoffered;
      for (const gatewayId of refreshed.changed) changed.add(gatewayId);
      for (const gatewayId of refreshed.named) named.add(gatewayId);
      this.#mustCheckAll ||= refreshed.isReload && this.#isLoaded;
      const mustCheckAll = this.#mustCheckAll;
      this.#isLoaded = true;
      // A gateway whose token was revoked must not receive new content.
      const checked = mustCheckAll ? this.connections.agentIds : named;
      await this.#checkTokens(mustCheckAll ? checked : new Set([...checked, ...this.#unchecked]));
      await this.#endReplacedKeys(checked);
      for (const gatewayId of changed) {
        const connection = this.connections.of(gatewayId);
        if (connection !== undefined) queue.add(() => this.#offer(connection));
      }
      changed.clear();
      named.clear();
      this.#mustCheckAll = false;
      // The next refresh names the gateways of entries that arrived meanwhile.
      this.#unchecked.clear();
      // The next refresh may precede this report, but its content is offered only later.
      queue.add(() => {
        this.#offeredGeneration = generation;
        this.#reportGeneration();
      });
      this.#timer.set(this.#desired.dueAt);
    } catch (error) {
      this.#isStale = true;
      throw error;
    }
  }

  /**
   * Before the desired states are loaded, reads the key of a gateway with several links. If there are too many links, a
   * thief's links, which lack the key, then end first.
   */
  #learnKey({ agent: { agentId } }: GatewayConnection): void {
    if (this.#isLoaded || this.connections.allOf(agentId).length === 1) return;
    // If this fails, the next link reads it.
    this.#desired.learnKey(agentId).catch(() => undefined);
  }

  /**
   * Ends links whose gateway has another key now, which another link proved or an administrator allowed. Links that
   * arrive are refused afterwards, with an event.
   */
  async #endReplacedKeys(gatewayIds: Iterable<string>): Promise<void> {
    for (const gatewayId of gatewayIds) {
      for (const connection of this.connections.allOf(gatewayId)) {
        const { claim, token } = connection;
        if (!connection.isClaimed || claim === undefined) continue;
        const known = this.#replacedKeyFault(connection);
        const fault = await this.#desired.confirmedKeyFault(gatewayId, claim, token, known);
        if (fault !== undefined && !connection.isClosed) this.#end(connection, "key_refused");
      }
    }
  }

  #replacedKeyFault({ agent, claim, token }: GatewayConnection): KeyClaimFault | undefined {
    return claim === undefined ? undefined : this.#desired.replacedKeyFault(agent.agentId, claim, token);
  }

  /**
   * Reads the token again before a connection introduces a key: it may have been rotated since the connection was
   * opened. A connection with a former token must not replace the link of the rightful agent.
   */
  async #checkIntroducingToken({ agent: { agentId }, token }: GatewayConnection, claim: KeyClaim): Promise<void> {
    if (token === "former" || this.#desired.keyFault(agentId, claim, "former") !== "former_token") return;
    await this.#checkTokens([agentId]);
  }

  /** Refuses a connection whose agent may not have the key that it reports. @returns whether it did */
  async #refuseKey(connection: GatewayConnection, claim: KeyClaim): Promise<boolean> {
    const { agent, token } = connection;
    const known = this.#desired.keyFault(agent.agentId, claim, token);
    const fault = await this.#desired.confirmedKeyFault(agent.agentId, claim, token, known);
    if (connection.isClosed) return true;
    if (fault === undefined) return false;
    this.#recorder.refusedKey(connection, claim.publicKey, fault);
    this.#end(connection, "key_refused");
    return true;
  }

  #greet(connection: GatewayConnection, hello: Hello, key: SigningKey): void {
    const { tenantId, sha256, clock } = this.#options;
    const { agentId: gatewayId } = connection.agent;
    const wanted = this.#wantedContentOf(connection);
    // The content of a gateway that was just created is not known yet: its update calls this again.
    if (connection.isClosed || connection.session !== undefined || wanted === undefined) return;
    const session = new GatewaySession(
      {
        tenantId,
        gatewayId,
        key,
        sha256,
        send: (message) => connection.sendFrames(configurationFrames(message)),
        clock,
        listener: this.#listenerOf(connection),
      },
      wanted,
    );
    connection.session = session;
    this.#recordWanted(connection, wanted, hello.enforces?.root);
    session.hello(hello.enforces, this.#enforced.get(gatewayId));
  }

  #offer(connection: GatewayConnection): void {
    const { session } = connection;
    if (session === undefined) {
      connection.greet?.();
      return;
    }
    const wanted = this.#wantedContentOf(connection);
    if (connection.isClosed || wanted === undefined) return;
    // Recorded before it is sent: no answer may be recorded before the content it answers.
    this.#recordWanted(connection, wanted, connection.wantedRoot);
    session.want(wanted);
  }

  #wantedContentOf({ agent, agentGeneration, version }: GatewayConnection): WantedConfiguration | undefined {
    const { generation, validity } = this.#desired;
    const now = this.#options.clock.now().getTime();
    const content = this.#desired.contentOf(agent.agentId);
    if (content === undefined || validity === undefined) return undefined;
    return {
      content: contentForVersion(content, version),
      // Agents accept only later generations. After a restore from a backup, the tenant's generation is earlier.
      generation: Math.max(generation, agentGeneration),
      expiresAt: validity.until,
      lastsUntil: validity.until - (validity.until - validity.from) / 4,
      lastsAtMost: now + (validity.until - validity.from) + clockToleranceMs,
    };
  }

  /** @param knownRoot the content that was desired or enforced before */
  #recordWanted(
    connection: GatewayConnection,
    { content, generation }: WantedConfiguration,
    knownRoot: string | undefined,
  ): void {
    const { sha256, clock } = this.#options;
    const root = contentRoot(content, sha256);
    if (root === connection.wantedRoot) return;
    const isApplied = root === knownRoot;
    connection.wantedRoot = root;
    connection.wantedSince = isApplied ? undefined : clock.elapsedMs();
    this.#recorder.wanted(connection, root, generation, isApplied);
  }

  #listenerOf(connection: GatewayConnection): GatewaySessionListener {
    return {
      sent: (generation, root) => this.#recorder.sent(connection, root, generation),
      applied: (enforced, content) => {
        if (content !== undefined) this.#enforced.set(connection.agent.agentId, content);
        this.#recorder.applied(connection, enforced);
        this.#measureLag(connection, enforced.root);
      },
      failed: (reason, message) => this.#recorder.failed(connection, reason, message),
      ended: (reason) => this.#end(connection, reason),
    };
  }

  #measureLag(connection: GatewayConnection, appliedRoot: string): void {
    const { clock, lagged } = this.#options;
    if (appliedRoot !== connection.wantedRoot || connection.wantedSince === undefined) return;
    lagged?.(clock.elapsedMs() - connection.wantedSince);
    connection.wantedSince = undefined;
  }

  *#heartbeat(connection: GatewayConnection, heartbeat: Heartbeat): Steps {
    const now = this.#options.clock.now();
    connection.sendIfRead({ type: "heartbeat-answer", sequence: heartbeat.sequence });
    // Until its token and its key are checked, an agent reports nothing about the gateway.
    if (!this.connections.isCurrent(connection)) return;
    this.#recorder.heartbeat(connection, heartbeat);
    for (let start = 0; start < heartbeat.peers.length; start += peersInStep) {
      yield;
      // The link may have ended meanwhile.
      if (!this.connections.isCurrent(connection)) return;
      this.#reported(connection, heartbeat.peers.slice(start, start + peersInStep), now);
    }
  }

  #reported({ agent: { agentId: gatewayId } }: GatewayConnection, reports: readonly PeerReport[], now: Date): void {
    const { tenantId, sources } = this.#options;
    const peers = this.#desired.contentOf(gatewayId)?.peers;
    for (const { peer, lastHandshake, address } of reports) {
      // A gateway may report only on its own peers.
      const deviceId = peers?.get(peer) === undefined ? undefined : this.#desired.deviceIdAt(peer);
      if (deviceId === undefined || lastHandshake === undefined) continue;
      // The clock of a gateway may be ahead.
      const at = new Date(Math.min(lastHandshake, now.getTime()));
      this.#recorder.handshake(deviceId, gatewayId, at);
      const observed = address === undefined ? "" : discoveredAddress(address);
      if (observed === "") continue;
      const source = { address: this.#desired.evidence(deviceId, gatewayId, observed), at: at.getTime() };
      // The observation counts at this gateway alone: no other gateway trusts it.
      if (this.#desired.isMove({ deviceId, gatewayId, source })) {
        sources.observe(tenantId, deviceId, gatewayId, source.address, at);
      }
    }
  }

  async #checkTokens(gatewayIds: Iterable<string>): Promise<void> {
    const connected = [...gatewayIds].filter((id) => this.connections.allOf(id).length > 0);
    const now = () => this.#options.clock.now().getTime();
    const expired = await this.#tokens.check(connected, this.connections, now);
    for (const { connection, reason } of expired) this.#end(connection, reason);
  }

  /** The state of a connection could not be stored: its gateway has a later one, or was deleted. */
  async #endSuperseded(gatewayId: string, connectionId: string): Promise<void> {
    // If this fails, the next attempt to store state leads here again.
    await this.#checkTokens([gatewayId]).catch(() => undefined);
    const connection = this.connections.of(gatewayId);
    if (connection?.id === connectionId) this.#end(connection, "replaced");
  }

  #end(connection: GatewayConnection, reason: GatewayReason): void {
    connection.end(reason);
    const { agentId: gatewayId } = connection.agent;
    if (reason === "gateway_gone") {
      this.#enforced.delete(gatewayId);
      this.#recorder.forget(gatewayId);
    }
    this.left(connection);
  }

  #reportGeneration(): void {
    if (this.connections.size === 0) return;
    this.#reportedAt = this.#options.clock.elapsedMs();
    this.#recorder.setGeneration(this.#offeredGeneration);
  }
}
