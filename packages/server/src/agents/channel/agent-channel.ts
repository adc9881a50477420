import { createHash } from "node:crypto";
import { type LinkVersion, linkVersionOf } from "@gatehouse/agent-protocol/link/greeting";
import type { HashText } from "@gatehouse/agent-protocol/link/hash-tree";
import type { KeyClaim } from "@gatehouse/agent-protocol/link/key-proof";
import { newChallenge } from "../../agent-identity/key-challenge.ts";
import { cachedSigningKey, openSigningKey, type SigningKey } from "../../agent-identity/signing-keys.ts";
import { AppError } from "../../platform/app-error.ts";
import type { Clock } from "../../platform/clock.ts";
import type { CommandRunner } from "../../platform/command.ts";
import { Semaphore } from "../../platform/concurrency/semaphore.ts";
import type { Steps } from "../../platform/concurrency/tenant-turns.ts";
import { TimeSlicedQueue } from "../../platform/concurrency/time-sliced-queue.ts";
import type { LinkListener, LinkReceiver, LinkTransport } from "../../platform/link-transport.ts";
import type { Log } from "../../platform/log.ts";
import type { OutboxEntry } from "../../platform/outbox/outbox.queries.ts";
import type { OutboxSubscriber } from "../../platform/outbox/outbox-follower.ts";
import { hashToken, isWholeToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";
import type { DeviceSources, MovedDevice, SourceFollower } from "../sources/device-sources.ts";
import type { AgentConnection, PresentedAgent } from "./agent-connection.ts";
import {
  type AgentMessage,
  ConnectionGate,
  type ConnectionHost,
  type ConnectionLimits,
  type Hello,
  type LaterMessage,
} from "./connection-gate.ts";
import type { ConnectionRegistry } from "./connection-registry.ts";

export interface AgentChannelOptions {
  readonly runner: CommandRunner;
  readonly clock: Clock;
  readonly log: Log;
  readonly sources: DeviceSources;
  readonly limits?: Partial<ConnectionLimits> | undefined;
}

/** The dependencies of a tenant's agents of either kind. */
export interface TenantParts extends Omit<AgentChannelOptions, "limits"> {
  readonly tenantId: string;
  readonly sha256: HashText;
  readonly queue: TimeSlicedQueue;
  readonly signingKey: () => Promise<SigningKey>;
  /** Returns a random time after which an agent that is sent away may connect again, in milliseconds. */
  readonly jitterMs: () => number;
}

/** The agents of one kind that a tenant has on this replica. */
export interface TenantAgents<Message extends AgentMessage, Connection extends AgentConnection<Message, never>> {
  readonly connections: Pick<ConnectionRegistry<never, Connection>, "size" | "unsettled"> & Iterable<Connection>;
  /** Whether no agent is connected, and none is expected back soon. */
  readonly isIdle: boolean;
  /** @throws AppError database_unavailable; then the connection is ended */
  join(connection: Connection, hello: Hello<Message>, claim: KeyClaim): Promise<void>;
  /** @returns the rest of the work that the message causes, if it is long */
  received(connection: Connection, message: LaterMessage<Message>): Steps | undefined;
  /** The connection is closed. It may never have joined. */
  left(connection: Connection): void;
  /** The outbox has an entry of this tenant. */
  changed(entry: OutboxEntry): void;
  /** Entries of the outbox were missed. */
  missed(): void;
  /** Devices have other source addresses. The tenant may know them already. */
  moved(devices: readonly MovedDevice[]): void;
  /** Does what is due by time. Called about once a second. */
  tick(): void;
  /** @param retryAfterMs when an agent may connect again, in milliseconds */
  stop(retryAfterMs: () => number): Promise<void>;
  /** Ends all connections for good: the tenant was deleted, or is idle. */
  abandon(): Promise<void>;
}

export interface AgentKind {
  readonly name: "gateway" | "device";
  readonly invalidToken: "invalid_gateway_token" | "invalid_device_token";
}

/**
 * The most frames of a tenant's agents that are sent and not read, of 256 KiB each. The frames of other agents of the
 * tenant wait.
 */
const mostUnreadFrames = 128;

const sha256: HashText = (text) => createHash("sha256").update(text).digest("hex");

/** The connections of one kind of agent to this replica, and the tenants that they belong to. */
export abstract class AgentChannel<
  Agent extends PresentedAgent,
  Message extends AgentMessage,
  Connection extends AgentConnection<Message, never, Agent>,
  Tenant extends TenantAgents<Message, Connection>,
> implements OutboxSubscriber, SourceFollower, LinkListener<Agent>
{
  readonly #kind: AgentKind;
  readonly #options: AgentChannelOptions;
  readonly #gate: ConnectionGate<Message, Connection>;
  readonly #queue: TimeSlicedQueue;
  protected readonly tenants = new Map<string, Tenant>();
  /** The signing keys that the tenants use, as functions that read them once. */
  readonly #signingKeys = new Map<string, () => Promise<SigningKey>>();
  /** The frames that each tenant's agents may leave unread. */
  readonly #unread = new Map<string, Semaphore>();

  constructor(kind: AgentKind, options: AgentChannelOptions) {
    this.#kind = kind;
    this.#options = options;
    const { clock, log, limits } = options;
    this.#gate = new ConnectionGate({ clock, log, limits }, this.#host());
    this.#queue = new TimeSlicedQueue((error) => log.error({ err: error, agent: kind.name }, "agent channel failed"));
  }

  /** @returns undefined if the token belongs to no agent, or has expired */
  protected abstract findAgent(tokenHash: Buffer): Promise<Agent | undefined>;
  /** @param now by `clock.elapsedMs()` */
  protected abstract newConnection(
    agent: Agent,
    transport: LinkTransport,
    sourceAddress: string,
    version: LinkVersion,
    now: number,
  ): Connection;
  protected abstract newTenant(parts: TenantParts): Tenant;

  /** Open connections, and agents among them that have not applied the configuration that they should have. */
  get state(): { readonly connections: number; readonly unsettled: number } {
    let unsettled = 0;
    for (const { connections } of this.tenants.values()) unsettled += connections.unsettled;
    return { connections: this.#gate.size, unsettled };
  }

  /**
   * Finds the agent that a token belongs to.
   *
   * @throws AppError invalid_gateway_token or invalid_device_token; too_many_links, database_unavailable
   */
  authenticate(token: string): Promise<Agent> {
    const { name, invalidToken } = this.#kind;
    const prefix = tokenPrefixes[name];
    return this.#gate.admit(async () => {
      if (!token.startsWith(prefix) || !isWholeToken(token, prefix)) throw new AppError(invalidToken);
      const agent = await this.findAgent(hashToken(token));
      if (agent === undefined) throw new AppError(invalidToken);
      return agent;
    });
  }

  open(agent: Agent, transport: LinkTransport, sourceAddress: string, subprotocol: string): LinkReceiver {
    const now = this.#options.clock.elapsedMs();
    return this.#gate.open(this.newConnection(agent, transport, sourceAddress, linkVersionOf(subprotocol), now));
  }

  changed(entry: OutboxEntry): void {
    const tenant = this.tenants.get(entry.tenantId);
    if (tenant === undefined) return;
    const isDeleted = entry.changes.some(({ type, change }) => type === "tenant" && change === "deleted");
    if (isDeleted) this.#abandon(entry.tenantId, tenant);
    else if (entry.changes.some(({ type }) => type === "signing-key")) this.#restart(entry.tenantId, tenant);
    else tenant.changed(entry);
  }

  missed(): void {
    for (const [id, tenant] of this.tenants) {
      tenant.missed();
      void this.#restartIfRotated(id, tenant);
    }
  }

  get tenantIds(): Iterable<string> {
    return this.tenants.keys();
  }

  moved(tenantId: string, devices: readonly MovedDevice[]): void {
    this.tenants.get(tenantId)?.moved(devices);
  }

  /**
   * Does what is due by time: silence, expired tokens, time conditions, renewals, retries. Called about once a
   * second.
   */
  tick(): void {
    this.#gate.tick();
    for (const [id, tenant] of this.tenants) {
      this.#gate.dropSilent(tenant.connections);
      this.#gate.dropUnread(tenant.connections, this.#unreadOf(id));
      tenant.tick();
      if (tenant.isIdle) this.#abandon(id, tenant);
    }
  }

  /** Ends every connection. Agents are told to connect again at different times. */
  async close(): Promise<void> {
    this.#gate.close();
    const jitterMs = () => this.#gate.jitterMs();
    await Promise.all([...this.tenants.values()].map((tenant) => tenant.stop(jitterMs)));
    this.tenants.clear();
  }

  #host(): ConnectionHost<Message, Connection> {
    const tenantOf = ({ agent }: Connection) => this.tenants.get(agent.tenantId);
    return {
      joined: () => {
        let joined = 0;
        for (const { connections } of this.tenants.values()) joined += connections.size;
        return joined;
      },
      joinedOf: (tenantId) => this.tenants.get(tenantId)?.connections.size ?? 0,
      join: (connection, hello, claim) => {
        connection.unread = this.#unreadOf(connection.agent.tenantId);
        return (tenantOf(connection) ?? this.#addTenant(connection)).join(connection, hello, claim);
      },
      newChallenge: ({ agent }) => newChallenge(this.#kind.name, agent.tenantId, agent.agentId),
      received: (connection, message) => tenantOf(connection)?.received(connection, message),
      left: (connection) => tenantOf(connection)?.left(connection),
      logFields: ({ agent: { tenantId, agentId } }) => ({ tenantId, [`${this.#kind.name}Id`]: agentId }),
    };
  }

  #unreadOf(tenantId: string): Semaphore {
    let unread = this.#unread.get(tenantId);
    if (unread === undefined) {
      unread = new Semaphore(mostUnreadFrames);
      this.#unread.set(tenantId, unread);
    }
    return unread;
  }

  #addTenant({ agent: { tenantId } }: Connection): Tenant {
    const { runner, clock, log, sources } = this.#options;
    const signingKey = cachedSigningKey(runner, tenantId, clock);
    this.#signingKeys.set(tenantId, signingKey);
    const tenant = this.newTenant({
      tenantId,
      runner,
      clock,
      log,
      sources,
      sha256,
      queue: this.#queue,
      signingKey,
      jitterMs: () => this.#gate.jitterMs(),
    });
    this.tenants.set(tenantId, tenant);
    return tenant;
  }

  /** A missed entry may have been a rotation: agents that follow the new key refuse what the former one signs. */
  async #restartIfRotated(tenantId: string, tenant: Tenant): Promise<void> {
    const { runner, clock, log } = this.#options;
    try {
      const [used, current] = await Promise.all([
        this.#signingKeys.get(tenantId)?.(),
        openSigningKey(runner.database, runner.secrets.signingKeys, tenantId, clock.now()),
      ]);
      if (used?.publicKey === current.publicKey || this.tenants.get(tenantId) !== tenant) return;
      this.#restart(tenantId, tenant);
    } catch (error) {
      log.warn({ err: error, tenantId }, "failed to check the signing key; will check after the next gap");
    }
  }

  /** The tenant has another signing key: its agents connect again, and learn the key from `welcome`. */
  #restart(tenantId: string, tenant: Tenant): void {
    this.tenants.delete(tenantId);
    this.#signingKeys.delete(tenantId);
    tenant
      .stop(() => this.#gate.jitterMs())
      .catch((error: unknown) => {
        this.#options.log.warn({ err: error, tenantId }, "failed to end agent connections after a key rotation");
      });
  }

  #abandon(tenantId: string, tenant: Tenant): void {
    this.tenants.delete(tenantId);
    this.#signingKeys.delete(tenantId);
    this.#unread.delete(tenantId);
    void tenant.abandon();
  }
}
