import {
  type DeviceConfigurationHeader,
  deviceConfigurationFormat,
} from "@gatehouse/agent-protocol/device/configuration";
import { deviceSignedText } from "@gatehouse/agent-protocol/device/envelope";
import type {
  DeviceApplied,
  DeviceFailed,
  DeviceGoodbye,
  DeviceHello,
  DeviceServerMessage,
} from "@gatehouse/agent-protocol/device/frames";
import { type ConfigurationName, configurationName } from "@gatehouse/agent-protocol/link/envelope";
import type { HashText } from "@gatehouse/agent-protocol/link/hash-tree";
import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import type { SigningKey } from "../../agent-identity/signing-keys.ts";
import type { Clock } from "../../platform/clock.ts";
import type { AgentSession } from "../channel/agent-connection.ts";
import {
  answerTimeoutMs,
  isIssuedInFuture,
  issueTime,
  orderToFollow,
  RefusalBackoff,
} from "../channel/configuration-timing.ts";

/**
 * A configuration is renewed between these shares of its validity period, before half of it (SPEC.md). The time is
 * random, so that configurations of the same age are not renewed at once.
 */
const renewedFrom = 0.4;
const renewedUntil = 0.49;

/** The configuration that a device should have. */
export interface WantedRoutes {
  readonly content: DeviceConfiguration;
  /** Hash of the content. */
  readonly hash: string;
  /** The tenant's generation that the content reflects. */
  readonly generation: number;
  /** How long a configuration is valid without the control plane, in milliseconds. */
  readonly lifeMs: number;
}

export interface DeviceSessionParts {
  readonly tenantId: string;
  readonly deviceId: string;
  readonly key: SigningKey;
  readonly sha256: HashText;
  readonly clock: Clock;
  /** A random number from 0 to 1. */
  readonly random: () => number;
  readonly send: (message: DeviceServerMessage) => void;
  readonly refused: (failed: DeviceFailed) => void;
  /** The connection is to be ended. */
  readonly ended: (reason: DeviceGoodbye["reason"]) => void;
}

/** A configuration that was sent, or that the device uses. */
interface Held {
  readonly name: ConfigurationName;
  /** Hash of the content; undefined if it is unknown. */
  readonly content: string | undefined;
  /** The validity period in milliseconds. */
  readonly lifeMs: number;
  /** Milliseconds since 1970. */
  readonly renewAt: number;
}

/**
 * The configurations of one connected device: at most one is unanswered, and the newest follows it. It sends through
 * `send`; events arrive as calls. The gateways' state machine does not fit: it offers refused content again whenever
 * the tenant's generation rises, and renews configurations at fixed times.
 */
export class DeviceSession implements AgentSession {
  readonly #parts: DeviceSessionParts;
  readonly #backoff = new RefusalBackoff();
  #wanted: WantedRoutes;
  #inUse: Held | undefined;
  #inFlight: Held | undefined;
  /** When a configuration was last sent, by `clock.elapsedMs()`. */
  #sentAt = 0;
  /** Hash of the content that was refused last. */
  #refused: string | undefined;
  /** The latest configuration that the device has or was sent. */
  #latest: Pick<ConfigurationName, "generation" | "issuedAt"> | undefined;

  /** @param uses the configuration that the device reports to use */
  constructor(parts: DeviceSessionParts, uses: DeviceHello["uses"], wanted: WantedRoutes) {
    this.#parts = parts;
    this.#wanted = wanted;
    this.#inUse = uses === null ? undefined : this.#recognize(uses, wanted);
    this.#offer();
  }

  get isSettled(): boolean {
    return this.#inFlight === undefined && this.#inUse?.content === this.#wanted.hash;
  }

  /** Replaces the desired configuration. An earlier one that was not sent is skipped. */
  want(wanted: WantedRoutes): void {
    this.#wanted = wanted;
    this.#offer();
  }

  applied({ configuration }: DeviceApplied): void {
    const held = this.#takeAnswered(configuration);
    if (held === undefined) return;
    this.#inUse = held;
    this.#refused = undefined;
    this.#backoff.reset();
    this.#offer();
  }

  failed(frame: DeviceFailed): void {
    const held = this.#takeAnswered(frame.configuration);
    if (held === undefined) return;
    this.#refused = held.content;
    this.#backoff.refused(this.#parts.clock.elapsedMs());
    this.#parts.refused(frame);
    this.#offer();
  }

  tick(): void {
    const { clock, ended } = this.#parts;
    if (this.#inFlight === undefined) this.#offer();
    else if (clock.elapsedMs() - this.#sentAt > answerTimeoutMs) ended("protocol");
  }

  /** @returns the configuration in flight; undefined if the answer is to another one, which violates the protocol */
  #takeAnswered({ hash }: ConfigurationName): Held | undefined {
    const held = this.#inFlight;
    if (held?.name.hash !== hash) {
      this.#parts.ended("protocol");
      return undefined;
    }
    this.#inFlight = undefined;
    return held;
  }

  /**
   * Sends the desired configuration, unless the device uses it, refused it recently, or has yet to answer another one.
   */
  #offer(): void {
    const { clock, send, key, sha256 } = this.#parts;
    const { content, hash, lifeMs } = this.#wanted;
    if (this.#inFlight !== undefined || this.#isCurrent(this.#inUse)) return;
    if (this.#refused === hash && this.#backoff.isWaiting(clock.elapsedMs())) return;
    const header = this.#nextHeader();
    const name = configurationName(header, sha256);
    this.#inFlight = { name, content: hash, lifeMs, renewAt: this.#renewalOf(header.issuedAt) };
    this.#sentAt = clock.elapsedMs();
    const signature = key.sign(deviceSignedText(name));
    send({ type: "configuration", configuration: { header, signature, content } });
  }

  /** Whether a configuration needs no replacement. One that was issued in the future expires too late. */
  #isCurrent(held: Held | undefined): boolean {
    const { hash, lifeMs } = this.#wanted;
    const now = this.#now();
    return held?.content === hash && held.lifeMs === lifeMs && now < held.renewAt && !isIssuedInFuture(held.name, now);
  }

  /** Agents accept only later configurations, even if clocks differ or the database was restored from a backup. */
  #nextHeader(): DeviceConfigurationHeader {
    const now = this.#now();
    const latest = this.#latest === undefined ? undefined : orderToFollow(this.#latest, now);
    const generation = Math.max(this.#wanted.generation, latest?.generation ?? 0);
    const issuedAt = issueTime(latest, generation, now);
    this.#latest = { generation, issuedAt };
    return this.#header(generation, issuedAt, this.#wanted.hash);
  }

  /**
   * The length of the validity period is the tenant's setting. So the name of a configuration determines everything
   * except the content.
   */
  #header(generation: number, issuedAt: number, content: string): DeviceConfigurationHeader {
    const { tenantId: tenant, deviceId: device } = this.#parts;
    const expiresAt = issuedAt + this.#wanted.lifeMs;
    return { format: deviceConfigurationFormat, tenant, device, generation, issuedAt, expiresAt, content };
  }

  /**
   * Checks whether the device uses the desired content: then its configuration has the name that this content would
   * have. A configuration with a future time is replaced, because it expires too late.
   */
  #recognize(uses: ConfigurationName, { hash, lifeMs }: WantedRoutes): Held {
    const { generation, issuedAt } = uses;
    this.#latest = orderToFollow(uses, this.#now());
    const name = configurationName(this.#header(generation, issuedAt, hash), this.#parts.sha256);
    const isCurrent = this.#latest === uses && name.hash === uses.hash;
    const content = isCurrent ? hash : undefined;
    return { name: uses, content, lifeMs, renewAt: this.#renewalOf(issuedAt) };
  }

  #now(): number {
    return this.#parts.clock.now().getTime();
  }

  #renewalOf(issuedAt: number): number {
    const { random } = this.#parts;
    return issuedAt + Math.floor(this.#wanted.lifeMs * (renewedFrom + random() * (renewedUntil - renewedFrom)));
  }
}
