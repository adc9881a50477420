/** The devices of one tenant that are connected to this replica: each is told its ways, and told anew when a change or time concerns it. */
import { deviceContentHash } from "@gatehouse/agent-protocol/device/envelope";
import type { DeviceFailed, DeviceGoodbye, DeviceHello, DeviceMessage } from "@gatehouse/agent-protocol/device/frames";
import { heartbeatIntervalMs } from "@gatehouse/agent-protocol/link/frames";
import type { HashText } from "@gatehouse/agent-protocol/link/hash-tree";
import { deviceConfiguration } from "@gatehouse/policy/enforcement/device-routes";
import type { Clock } from "../../platform/clock.ts";
import type { CommandRunner } from "../../platform/command.ts";
import type { TimeSlicedQueue } from "../../platform/concurrency/time-sliced-queue.ts";
import { TimerHeap } from "../../platform/concurrency/timer-heap.ts";
import type { Log } from "../../platform/log.ts";
import type { OutboxEntry } from "../../platform/outbox/outbox.queries.ts";
import { openSigningKey, type SigningKey } from "../channel/signing-keys.ts";
import type { DeviceSources, MovedDevice } from "../sources/device-sources.ts";
import { discoveredAddress } from "../sources/discovered-address.ts";
import type { DeviceConnection } from "./device-connection.ts";
import { DeviceSession, type WantedRoutes } from "./device-session.ts";
import { type Concerned, KnownWays } from "./known-ways.ts";

/** After the database failed, in milliseconds. */
const retryMs = 500;
/** The longest that a timer waits before the clock is asked again, in milliseconds. */
const longestTimerMs = 60 * 60_000;

export interface TenantDevicesOptions {
  readonly tenantId: string;
  readonly runner: CommandRunner;
  readonly clock: Clock;
  readonly log: Log;
  readonly sources: DeviceSources;
  readonly sha256: HashText;
  readonly queue: TimeSlicedQueue;
  readonly lifeMs: number;
  /** How long somebody who cannot be served now is to stay away, in milliseconds. */
  readonly jitterMs: () => number;
}

type Reason = DeviceGoodbye["reason"];

export class TenantDevices {
  readonly #options: TenantDevicesOptions;
  readonly #ways: KnownWays;
  /** By device: those that said hello. */
  readonly #connections = new Map<string, DeviceConnection>();
  /** Those that said hello since the last refreshing began. */
  #newcomers = new Set<DeviceConnection>();
  #news: OutboxEntry[] = [];
  /** Something changed of which nobody can say what. */
  #isLost = false;
  #isStale = false;
  /** Whose ways are to be worked out in one of the next slices. */
  readonly #pending = new Set<DeviceConnection>();
  readonly #due = new TimerHeap<DeviceConnection>();
  #timer: NodeJS.Timeout | undefined;
  #key: Promise<SigningKey> | undefined;
  #refreshing: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: TenantDevicesOptions) {
    const { tenantId, runner } = options;
    this.#options = options;
    this.#ways = new KnownWays(tenantId, runner.database, runner.models);
  }

  get size(): number {
    return this.#connections.size;
  }

  get connections(): Iterable<DeviceConnection> {
    return this.#connections.values();
  }

  /** How many devices do not have yet what they should. */
  get unsettled(): number {
    let count = 0;
    for (const { session } of this.#connections.values()) if (session?.isSettled !== true) count += 1;
    return count;
  }

  /** Takes in a connection that said hello: the next refreshing, which serves all who came meanwhile, answers it. */
  join(connection: DeviceConnection, hello: DeviceHello): void {
    const { deviceId } = connection.device;
    this.#connections.get(deviceId)?.end("replaced");
    connection.hello = hello;
    this.#connections.set(deviceId, connection);
    this.#newcomers.add(connection);
    this.wake();
  }

  /** Devices are elsewhere now, as the database knows: they may be known to be. */
  moved(devices: readonly MovedDevice[]): void {
    for (const { deviceId, sourceIp } of devices) {
      const connection = this.#connections.get(deviceId);
      if (connection !== undefined && this.#ways.move(deviceId, sourceIp)) this.#tellSoon(connection);
    }
  }

  said(connection: DeviceConnection, message: Exclude<DeviceMessage, { type: "hello" }>): void {
    if (message.type === "heartbeat") {
      connection.sendIfRead({ type: "heartbeat-answer", sequence: message.sequence });
    } else if (connection.session === undefined) this.#end(connection, "protocol");
    else if (message.type === "applied") connection.session.applied(message);
    else connection.session.failed(message);
  }

  /** A connection is gone. */
  left(connection: DeviceConnection): void {
    const { deviceId } = connection.device;
    this.#newcomers.delete(connection);
    if (this.#connections.get(deviceId) !== connection) return;
    this.#connections.delete(deviceId);
    this.#ways.forget(deviceId);
  }

  /** The outbox told of a change of this tenant. */
  changed(entry: OutboxEntry): void {
    this.#news.push(entry);
    this.wake();
  }

  lost(): void {
    this.#isLost = true;
    this.wake();
  }

  /** There is something new: looks soon, without anybody waiting for it. */
  wake(): void {
    this.#isStale = true;
    if (this.#isStopped) return;
    this.#refreshing ??= this.#refreshAll().finally(() => {
      this.#refreshing = undefined;
      if (this.#isStale) this.wake();
    });
  }

  /** Does what time alone brings: called every second or so, and when the first condition of time is due. */
  tick(): void {
    const now = this.#now();
    for (const connection of [...this.#connections.values()]) connection.session?.tick();
    for (let due = this.#due.take(now); due !== undefined; due = this.#due.take(now)) {
      const { at, item: connection } = due;
      if (connection.dueAt !== at) continue;
      connection.dueAt = Number.POSITIVE_INFINITY;
      this.#tellSoon(connection);
    }
    this.#setTimer();
  }

  /** @param goodbye how long each is to stay away, in milliseconds */
  async stop(goodbye: () => number): Promise<void> {
    this.#endAll("shutting_down", goodbye);
    await this.#refreshing;
  }

  /** The tenant is gone. */
  abandon(): void {
    this.#endAll("device_gone", () => undefined);
  }

  #endAll(reason: Reason, retryAfterMs: () => number | undefined): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    for (const connection of this.#connections.values()) connection.end(reason, retryAfterMs());
    this.#connections.clear();
    this.#newcomers.clear();
  }

  async #refreshAll(): Promise<void> {
    while (this.#isStale && !this.#isStopped) {
      this.#isStale = false;
      const newcomers = this.#newcomers;
      const news = this.#news;
      const wasLost = this.#isLost;
      this.#newcomers = new Set();
      this.#news = [];
      this.#isLost = false;
      if (this.#connections.size === 0) continue;
      try {
        await this.#refresh(news, newcomers, wasLost);
      } catch (error) {
        const { log, tenantId, jitterMs } = this.#options;
        log.warn({ err: error, tenantId }, "the ways of devices could not be worked out; it is tried again");
        for (const connection of newcomers) this.#end(connection, "overloaded", jitterMs());
        this.#news = [...news, ...this.#news];
        this.#isLost ||= wasLost;
        this.#isStale = true;
        await new Promise((resolve) => setTimeout(resolve, retryMs).unref());
      }
    }
  }

  async #refresh(news: readonly OutboxEntry[], newcomers: ReadonlySet<DeviceConnection>, all: boolean): Promise<void> {
    const key = await this.#signingKey();
    const connected = [...this.#connections.keys()];
    const unread = Array.from(newcomers, ({ device }) => device.deviceId);
    const { concerned, identities } = await this.#ways.refresh({ news, connected, unread, all });
    for (const [deviceId, identity] of identities) {
      const connection = this.#connections.get(deviceId);
      if (connection === undefined) {
        this.#ways.forget(deviceId);
        continue;
      }
      const reason = reasonToEnd(connection, identity);
      if (reason !== undefined) this.#end(connection, reason);
    }
    for (const connection of newcomers) {
      if (connection.isClosed) continue;
      this.#noteSource(connection);
      this.#welcome(connection, key);
    }
    for (const connection of this.#connections.values()) {
      if (connection.session !== undefined && this.#isAmong(concerned, connection)) this.#tellSoon(connection);
    }
  }

  /** Who is on no way through a gateway that left is on none afterwards either: thousands need not be asked. */
  #isAmong({ everybody, devices, users, gateways }: Concerned, { device, routes }: DeviceConnection): boolean {
    if (everybody || devices.has(device.deviceId)) return true;
    if (users.has(this.#ways.model.devices.get(device.deviceId)?.facts.userId ?? "")) return true;
    return gateways.size > 0 && routes?.configuration.gateways.some(({ gateway }) => gateways.has(gateway)) === true;
  }

  /** Only of devices whose key was looked at: whoever holds a token alone tells nothing. */
  #noteSource({ device: { deviceId }, sourceAddress }: DeviceConnection): void {
    const { tenantId, clock, sources } = this.#options;
    const address = discoveredAddress(sourceAddress);
    if (address !== "") sources.observe(tenantId, deviceId, address, clock.now());
  }

  #welcome(connection: DeviceConnection, key: SigningKey): void {
    const { tenantId, clock, queue } = this.#options;
    const { deviceId } = connection.device;
    connection.send({
      type: "welcome",
      tenant: tenantId,
      device: deviceId,
      signingKey: key.publicKey,
      heartbeatIntervalMs,
      now: clock.now().getTime(),
    });
    queue.add(() => {
      const wanted = this.#wantedOf(connection);
      if (wanted === undefined) this.#end(connection, "device_gone");
      else connection.session = this.#sessionOf(connection, key, wanted);
    });
  }

  #sessionOf(connection: DeviceConnection, key: SigningKey, wanted: WantedRoutes): DeviceSession {
    const { tenantId, sha256, lifeMs, log } = this.#options;
    const { deviceId } = connection.device;
    return new DeviceSession(
      {
        tenantId,
        deviceId,
        key,
        sha256,
        lifeMs,
        now: () => this.#now(),
        random: Math.random,
        send: (message) => connection.send(message),
        refused: ({ reason, message }: DeviceFailed) =>
          log.warn({ tenantId, deviceId, reason, message }, "a device refused its configuration"),
        ended: (reason) => this.#end(connection, reason),
      },
      connection.hello?.uses ?? null,
      wanted,
    );
  }

  /** In one of the next queue, by what is known then: news that come meanwhile cost nothing more. */
  #tellSoon(connection: DeviceConnection): void {
    // One that has no session yet is told by what is known when it gets one.
    if (this.#pending.has(connection) || connection.session === undefined) return;
    this.#pending.add(connection);
    this.#options.queue.add(() => {
      this.#pending.delete(connection);
      const wanted = this.#wantedOf(connection);
      if (wanted !== undefined) connection.session?.want(wanted);
    });
  }

  #wantedOf(connection: DeviceConnection): WantedRoutes | undefined {
    const { sha256 } = this.#options;
    if (connection.isClosed) return undefined;
    const { model, ways, serving, generation } = this.#ways;
    const { deviceId } = connection.device;
    const content = deviceConfiguration(model, ways, deviceId, this.#now(), connection.routes);
    if (content === undefined) return undefined;
    const { epoch } = this.#ways;
    const isChanged = (resourceId: string) => this.#ways.isChangedSince(resourceId, epoch);
    connection.routes = { configuration: content, serving, isChanged };
    const dueAt = content.validUntil ?? Number.POSITIVE_INFINITY;
    if (dueAt < connection.dueAt) {
      connection.dueAt = dueAt;
      this.#due.add(dueAt, connection);
      this.#setTimer();
    }
    return { content, hash: deviceContentHash(content, sha256), generation };
  }

  #end(connection: DeviceConnection, reason: Reason, retryAfterMs?: number): void {
    connection.end(reason, retryAfterMs);
    this.left(connection);
  }

  #setTimer(): void {
    clearTimeout(this.#timer);
    const { next } = this.#due;
    if (this.#isStopped || next === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(() => this.tick(), Math.max(1, Math.min(next - this.#now(), longestTimerMs)));
    this.#timer.unref();
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

  #now(): number {
    return this.#options.clock.now().getTime();
  }
}

/** Why a link must not go on, by who its device is now; undefined: nothing speaks against it. */
function reasonToEnd(
  { device, hello }: DeviceConnection,
  identity: { readonly publicKey: string; readonly tokenHash: string | null } | undefined,
): Reason | undefined {
  if (identity === undefined) return "device_gone";
  if (identity.tokenHash !== device.tokenHash) return "token_revoked";
  return identity.publicKey === hello?.publicKey ? undefined : "other_key";
}
