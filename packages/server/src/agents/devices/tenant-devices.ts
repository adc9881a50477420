import { deviceContentHash } from "@gatehouse/agent-protocol/device/envelope";
import {
  type DeviceFailed,
  type DeviceHello,
  type DeviceMessage,
  type DeviceQuestion,
  deviceQuestionsVersion,
  deviceUnservedVersion,
} from "@gatehouse/agent-protocol/device/frames";
import { heartbeatIntervalMs } from "@gatehouse/agent-protocol/link/frames";
import { type KeyClaim, keyAfterClaim, keyClaimFault } from "@gatehouse/agent-protocol/link/key-proof";
import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import { deviceConfiguration } from "@gatehouse/policy/enforcement/device-routes";
import { noSources } from "@gatehouse/policy/enforcement/device-sources";
import type { SigningKey } from "../../agent-identity/signing-keys.ts";
import type { DeviceIdentity } from "../../features/devices/devices.api.ts";
import { storeClaimedKeys } from "../../features/enrolment/enrolment.api.ts";
import { ClockTimer } from "../../platform/concurrency/clock-timer.ts";
import { CoalescedTask } from "../../platform/concurrency/coalesced-task.ts";
import { TimerHeap } from "../../platform/concurrency/timer-heap.ts";
import type { OutboxEntry } from "../../platform/outbox/outbox.queries.ts";
import type { TenantAgents, TenantParts } from "../channel/agent-channel.ts";
import { orderToFollow, setBackToleranceMs } from "../channel/configuration-timing.ts";
import type { LaterMessage } from "../channel/connection-gate.ts";
import { ConnectionRegistry } from "../channel/connection-registry.ts";
import type { MovedDevice } from "../sources/device-sources.ts";
import { discoveredAddress } from "../sources/discovered-address.ts";
import type { DeviceConnection, DeviceReason } from "./device-connection.ts";
import { DeviceQuestions } from "./device-questions.ts";
import { type Concerned, DeviceRouteInputs } from "./device-route-inputs.ts";
import { DeviceSession, type WantedRoutes } from "./device-session.ts";
import { areRoutesConcerned } from "./route-concern.ts";

/** The time to the next attempt after the database failed, in milliseconds. */
const retryMs = 500;
/** How often the key of a connection is stored at most. Another replica can store another key at the same time. */
const mostKeyWrites = 2;

export interface TenantDevicesOptions extends TenantParts {
  readonly lifeMs: number | undefined;
}

/** The devices of one tenant that are connected to this replica: each is offered the routes that it should use. */
export class TenantDevices implements TenantAgents<DeviceMessage, DeviceConnection> {
  readonly connections = new ConnectionRegistry<DeviceReason, DeviceConnection>();
  readonly #options: TenantDevicesOptions;
  readonly #inputs: DeviceRouteInputs;
  readonly #questions: DeviceQuestions;
  readonly #updates: CoalescedTask;
  readonly #timer: ClockTimer;
  /** Connections that said hello since the last update began. */
  #newcomers = new Set<DeviceConnection>();
  /** Connections whose routes are computed in one of the next slices. */
  readonly #queued = new Set<DeviceConnection>();
  /** Connections by the time at which their routes have to be computed again. */
  readonly #due = new TimerHeap<DeviceConnection>();

  constructor(options: TenantDevicesOptions) {
    const { tenantId, runner, clock, log } = options;
    this.#options = options;
    this.#inputs = new DeviceRouteInputs(tenantId, runner);
    this.#questions = new DeviceQuestions({ runner, clock, log });
    this.#timer = new ClockTimer(clock, () => this.tick());
    this.#updates = new CoalescedTask({
      run: () => this.#update(),
      retryMs,
      failed: (error) => log.warn({ err: error, tenantId }, "failed to compute device routes; will retry"),
    });
  }

  get isIdle(): boolean {
    return this.connections.size === 0;
  }

  /** The next update answers the hello, together with those of all devices that connect meanwhile. */
  async join(connection: DeviceConnection, hello: DeviceHello): Promise<void> {
    const generation = hello.uses === null ? 0 : orderToFollow(hello.uses, this.#now()).generation;
    if (!Number.isSafeInteger(generation)) return this.#end(connection, "protocol");
    connection.hello = hello;
    this.#newcomers.add(connection);
    const surplus = this.connections.arrive(connection);
    if (surplus !== undefined) {
      surplus.refuse("overloaded", this.#options.jitterMs());
      this.left(surplus);
    }
    this.#updates.request();
  }

  received(connection: DeviceConnection, message: LaterMessage<DeviceMessage>): undefined {
    if (message.type === "heartbeat") {
      connection.sendIfRead({ type: "heartbeat-answer", sequence: message.sequence });
    } else if (message.type === "question") this.#answer(connection, message);
    else if (connection.session === undefined) this.#end(connection, "protocol");
    else if (message.type === "applied") connection.session.applied(message);
    else connection.session.failed(message);
  }

  #answer(connection: DeviceConnection, question: DeviceQuestion): void {
    // Until its token and its key are checked, an agent gets no answers for the device.
    if (!this.connections.isCurrent(connection)) return;
    const { agentId: deviceId } = connection.agent;
    const routed = this.#inputs.settle(deviceId);
    const { sources, country } = routed ?? { sources: noSources, country: null };
    const { tenantId } = this.#options;
    void this.#questions.answer(connection, { tenantId, deviceId, sources, country }, question);
  }

  left(connection: DeviceConnection): void {
    this.#newcomers.delete(connection);
    if (!this.connections.delete(connection)) return;
    const { agentId } = connection.agent;
    if (this.connections.allOf(agentId).length === 0) this.#inputs.forget(agentId);
  }

  moved(devices: readonly MovedDevice[]): void {
    for (const device of devices) {
      const connection = this.connections.of(device.deviceId);
      if (connection !== undefined && this.#inputs.move(device)) this.#offerSoon(connection);
    }
  }

  changed(entry: OutboxEntry): void {
    this.#inputs.changed(entry);
    if (!this.isIdle) this.#updates.request();
  }

  missed(): void {
    this.#inputs.missed();
    if (!this.isIdle) this.#updates.request();
  }

  tick(): void {
    const now = this.#now();
    this.connections.tick();
    this.#replaceLaterRoutes(now);
    for (let due = this.#due.take(now); due !== undefined; due = this.#due.take(now)) {
      const { at, item: connection } = due;
      if (connection.dueAt !== at) continue;
      connection.dueAt = Number.POSITIVE_INFINITY;
      this.#offerSoon(connection);
    }
    this.#timer.set(this.#due.next);
  }

  /** After the clock was set back, computes routes again that hold only for later times. */
  #replaceLaterRoutes(now: number): void {
    for (const connection of this.connections) {
      if (connection.routedAt > now + setBackToleranceMs) this.#offerSoon(connection);
    }
  }

  async stop(retryAfterMs: () => number): Promise<void> {
    this.#endAll("shutting_down", retryAfterMs);
    await this.#updates.stop();
  }

  async abandon(): Promise<void> {
    this.#endAll("device_gone");
    await this.#updates.stop();
  }

  #endAll(reason: DeviceReason, retryAfterMs?: () => number): void {
    this.#timer.stop();
    this.connections.endAll(reason, retryAfterMs);
    this.#newcomers.clear();
  }

  async #update(): Promise<void> {
    const newcomers = this.#newcomers;
    this.#newcomers = new Set();
    if (this.isIdle) return;
    try {
      await this.#refresh(newcomers);
    } catch (error) {
      for (const connection of newcomers) this.#end(connection, "overloaded", this.#options.jitterMs());
      throw error;
    }
  }

  async #refresh(newcomers: ReadonlySet<DeviceConnection>): Promise<void> {
    const key = await this.#options.signingKey();
    const { concerned, identities } = await this.#inputs.refresh(
      this.connections.agentIds,
      Array.from(newcomers, ({ agent }) => agent.agentId),
    );
    for (const [deviceId, identity] of identities) {
      const connections = this.connections.allOf(deviceId);
      if (connections.length === 0) this.#inputs.forget(deviceId);
      for (const connection of connections) {
        // It connected after the identity was read: the next update checks it.
        if (this.#newcomers.has(connection)) continue;
        const reason = reasonToEnd(connection, identity, this.#now());
        if (reason !== undefined) this.#end(connection, reason);
      }
    }
    const waiting = await this.#storeKeys(newcomers, new Map(identities));
    for (const connection of newcomers) {
      if (connection.isClosed || waiting.has(connection)) continue;
      // Only now: a connection whose key or token is refused must not end the rightful one.
      this.connections.add(connection);
      this.#observeSource(connection);
      this.#welcome(connection, key);
    }
    for (const connection of this.connections) {
      if (connection.session !== undefined && this.#isConcerned(connection, concerned)) this.#offerSoon(connection);
    }
  }

  /**
   * Stores the keys of connections that differ from the stored ones, or that are proved for the first time. These
   * connections wait for the next update, which reads what was stored.
   */
  async #storeKeys(
    newcomers: ReadonlySet<DeviceConnection>,
    identities: ReadonlyMap<string, DeviceIdentity | undefined>,
  ): Promise<ReadonlySet<DeviceConnection>> {
    const { tenantId, runner, clock } = this.#options;
    const waiting = new Set<DeviceConnection>();
    const claimed: { deviceId: string; tokenHash: string; claim: KeyClaim }[] = [];
    for (const connection of newcomers) {
      const { agent, claim } = connection;
      const known = identities.get(agent.agentId)?.key;
      if (connection.isClosed || claim === undefined || known === undefined) continue;
      if (keyAfterClaim(known, claim) === known) continue;
      connection.keyWrites += 1;
      if (connection.keyWrites > mostKeyWrites) {
        this.#end(connection, "other_key");
        continue;
      }
      waiting.add(connection);
      claimed.push({ deviceId: agent.agentId, tokenHash: agent.tokenHash, claim });
    }
    if (claimed.length === 0) return waiting;
    await storeClaimedKeys(runner, tenantId, claimed, clock.now());
    for (const connection of waiting) {
      if (!connection.isClosed) this.#newcomers.add(connection);
    }
    this.#updates.request();
    return waiting;
  }

  #isConcerned({ agent, routes }: DeviceConnection, { everybody, devices, users, gateways }: Concerned): boolean {
    if (everybody || devices.has(agent.agentId)) return true;
    if (users.has(this.#inputs.model.devices.get(agent.agentId)?.facts.userId ?? "")) return true;
    if (routes === undefined || gateways.size === 0) return false;
    return areRoutesConcerned(routes.configuration, gateways, this.#inputs.model);
  }

  /** Called only after the device's key was checked: the token alone does not identify the device. */
  #observeSource({ agent, sourceAddress }: DeviceConnection): void {
    const { tenantId, clock, sources } = this.#options;
    const address = discoveredAddress(sourceAddress);
    if (address === "") return;
    sources.observe(tenantId, agent.agentId, null, this.#inputs.evidence(address), clock.now());
  }

  #welcome(connection: DeviceConnection, key: SigningKey): void {
    const { tenantId, queue } = this.#options;
    connection.send({
      type: "welcome",
      tenant: tenantId,
      device: connection.agent.agentId,
      signingKey: key.publicKey,
      ...(key.handovers.length === 0 ? {} : { handovers: [...key.handovers] }),
      heartbeatIntervalMs,
      now: this.#now(),
    });
    queue.add(() => {
      const wanted = this.#wantedRoutesOf(connection);
      if (wanted === undefined) this.#end(connection, "device_gone");
      else connection.session = this.#newSession(connection, key, wanted);
    });
  }

  #newSession(connection: DeviceConnection, key: SigningKey, wanted: WantedRoutes): DeviceSession {
    const { tenantId, sha256, log } = this.#options;
    const { agentId: deviceId } = connection.agent;
    return new DeviceSession(
      {
        tenantId,
        deviceId,
        key,
        sha256,
        clock: this.#options.clock,
        random: Math.random,
        send: (message) => connection.send(message),
        refused: ({ reason, message }: DeviceFailed) =>
          log.warn({ tenantId, deviceId, reason, message }, "device refused its configuration"),
        ended: (reason) => this.#end(connection, reason),
      },
      connection.hello?.uses ?? null,
      wanted,
    );
  }

  /** Computes and offers the routes in one of the next slices. Changes until then are included. */
  #offerSoon(connection: DeviceConnection): void {
    // A new session begins with the latest routes.
    if (this.#queued.has(connection) || connection.session === undefined) return;
    this.#queued.add(connection);
    this.#options.queue.add(() => {
      this.#queued.delete(connection);
      const wanted = this.#wantedRoutesOf(connection);
      if (wanted !== undefined) connection.session?.want(wanted);
    });
  }

  #wantedRoutesOf(connection: DeviceConnection): WantedRoutes | undefined {
    if (connection.isClosed) return undefined;
    this.#inputs.settle(connection.agent.agentId);
    const { model, routeInputs, serving, generation, epoch } = this.#inputs;
    const lifeMs = this.#options.lifeMs ?? this.#inputs.lifeMs;
    const now = this.#now();
    const content = deviceConfiguration(model, routeInputs, connection.agent.agentId, now, connection.routes);
    if (content === undefined) return undefined;
    connection.routedAt = now;
    const isChanged = (resourceId: string) => this.#inputs.isChangedSince(resourceId, epoch);
    connection.routes = { configuration: content, serving, isChanged };
    const dueAt = content.validUntil ?? Number.POSITIVE_INFINITY;
    if (dueAt < connection.dueAt) {
      connection.dueAt = dueAt;
      this.#due.add(dueAt, connection);
      this.#timer.set(this.#due.next);
    }
    const offered = contentFor(connection.version, content);
    return { content: offered, hash: deviceContentHash(offered, this.#options.sha256), generation, lifeMs };
  }

  #end(connection: DeviceConnection, reason: DeviceReason, retryAfterMs?: number): void {
    connection.end(reason, retryAfterMs);
    this.left(connection);
  }

  #now(): number {
    return this.#options.clock.now().getTime();
  }
}

/** Earlier agents refuse configurations with properties that they do not know. */
function contentFor(version: number, content: DeviceConfiguration): DeviceConfiguration {
  const { unserved, sessionEndsAt, ...known } = content;
  return {
    ...known,
    ...(unserved === undefined || version < deviceUnservedVersion ? {} : { unserved }),
    ...(sessionEndsAt === undefined || version < deviceQuestionsVersion ? {} : { sessionEndsAt }),
  };
}

/** @returns undefined if the device may stay connected */
function reasonToEnd(
  { agent, claim, session }: DeviceConnection,
  identity: DeviceIdentity | undefined,
  now: number,
): DeviceReason | undefined {
  if (identity === undefined) return "device_gone";
  if (identity.tokenHash !== agent.tokenHash) return "token_revoked";
  if (claim === undefined) return "other_key";
  // The device has replaced its key on another link.
  if (session !== undefined && claim.publicKey !== identity.key.publicKey) return "other_key";
  return keyClaimFault(identity.key, claim, "current", now) === undefined ? undefined : "other_key";
}
