/**
 * What one connected device has, is being sent, and should have: one configuration on its way at a time, and after it the newest. What it sends
 * goes out through `send`, and what happens comes in as calls.
 */

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
import type { ConfigurationName } from "@gatehouse/agent-protocol/link/envelope";
import { configurationName } from "@gatehouse/agent-protocol/link/envelope";
import type { HashText } from "@gatehouse/agent-protocol/link/hash-tree";
import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import type { SigningKey } from "../channel/signing-keys.ts";

/** After a configuration was refused, the same is offered again after this long at first, and at most, in milliseconds. */
const firstRetryMs = 30_000;
const longestRetryMs = 10 * 60_000;
/** Whoever does not answer a configuration for this long is let go, in milliseconds (SPEC.md). */
const longestAnswerMs = 60_000;
/** Over which share of its life a configuration is renewed, so that those made together are not renewed together; before half of it (SPEC.md). */
const renewedFrom = 0.4;
const renewedUntil = 0.49;

/** What a device should have. */
export interface WantedRoutes {
  readonly content: DeviceConfiguration;
  /** Of the content. */
  readonly hash: string;
  /** Of the tenant. */
  readonly generation: number;
}

export interface DeviceSessionParts {
  readonly tenantId: string;
  readonly deviceId: string;
  readonly key: SigningKey;
  readonly sha256: HashText;
  /** How long a configuration may be used without the control plane, in milliseconds. */
  readonly lifeMs: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** 0 to 1, another one each time. */
  readonly random: () => number;
  readonly send: (message: DeviceServerMessage) => void;
  /** The configuration was refused. */
  readonly refused: (failed: DeviceFailed) => void;
  /** The link is of no more use. */
  readonly ended: (reason: DeviceGoodbye["reason"]) => void;
}

/** A configuration that was sent, or is in use. */
interface Held {
  readonly name: ConfigurationName;
  /** Hash of the content; undefined: not known. */
  readonly content: string | undefined;
  /** Milliseconds since 1970. */
  readonly renewAt: number;
}

export class DeviceSession {
  readonly #parts: DeviceSessionParts;
  #wanted: WantedRoutes;
  #inUse: Held | undefined;
  #inFlight: Held | undefined;
  #sentAt = 0;
  #refused: { readonly content: string | undefined; readonly at: number; readonly waitMs: number } | undefined;

  /** @param uses what the device said it has */
  constructor(parts: DeviceSessionParts, uses: DeviceHello["uses"], wanted: WantedRoutes) {
    this.#parts = parts;
    this.#wanted = wanted;
    this.#inUse = uses === null ? undefined : this.#recognised(uses, wanted);
    this.#offer();
  }

  /** Whether the device has what it should. */
  get isSettled(): boolean {
    return this.#inFlight === undefined && this.#inUse?.content === this.#wanted.hash;
  }

  /** When what the device has is to be renewed, in milliseconds since 1970. */
  get renewAt(): number {
    return (this.#inFlight ?? this.#inUse)?.renewAt ?? Number.POSITIVE_INFINITY;
  }

  /** From now on this is wanted, and nothing that was wanted before and has not been sent. */
  want(wanted: WantedRoutes): void {
    this.#wanted = wanted;
    this.#offer();
  }

  applied({ configuration }: DeviceApplied): void {
    const held = this.#answered(configuration);
    if (held === undefined) return;
    this.#inUse = held;
    this.#refused = undefined;
    this.#offer();
  }

  failed(frame: DeviceFailed): void {
    const { now, refused } = this.#parts;
    const held = this.#answered(frame.configuration);
    if (held === undefined) return;
    const waitMs = Math.min(this.#refused === undefined ? firstRetryMs : this.#refused.waitMs * 2, longestRetryMs);
    this.#refused = { content: held.content, at: now() + waitMs, waitMs };
    refused(frame);
    this.#offer();
  }

  /** Does what time alone brings. */
  tick(): void {
    const { now, ended } = this.#parts;
    if (this.#inFlight === undefined) this.#offer();
    else if (now() - this.#sentAt > longestAnswerMs) ended("protocol");
  }

  /** @returns what was on its way; undefined where it was something else: nobody who keeps to the protocol answers that */
  #answered({ hash }: ConfigurationName): Held | undefined {
    const held = this.#inFlight;
    if (held?.name.hash !== hash) {
      this.#parts.ended("protocol");
      return undefined;
    }
    this.#inFlight = undefined;
    return held;
  }

  /** Sends what is wanted, unless the device has it, refused it a moment ago, or has yet to answer what was sent before. */
  #offer(): void {
    const { now, send, key, sha256 } = this.#parts;
    const { content, hash } = this.#wanted;
    if (this.#inFlight !== undefined) return;
    if (this.#inUse?.content === hash && now() < this.#inUse.renewAt) return;
    if (this.#refused?.content === hash && now() < this.#refused.at) return;
    const header = this.#nextHeader();
    const name = configurationName(header, sha256);
    this.#inFlight = { name, content: hash, renewAt: this.#renewalOf(header.issuedAt) };
    this.#sentAt = now();
    const signature = key.sign(deviceSignedText(name));
    send({ type: "configuration", configuration: { header, signature, content } });
  }

  /** Later than all that the device has or was sent, whatever the clocks of replicas say, and after a backup was restored. */
  #nextHeader(): DeviceConfigurationHeader {
    const { now } = this.#parts;
    const latest = this.#latest;
    const generation = Math.max(this.#wanted.generation, latest?.generation ?? 0);
    const issuedAt = latest?.generation === generation ? Math.max(now(), latest.issuedAt + 1) : now();
    this.#latest = { generation, issuedAt };
    return this.#header(generation, issuedAt, this.#wanted.hash);
  }

  #latest: Pick<ConfigurationName, "generation" | "issuedAt"> | undefined;

  /** A configuration always ends one life after it was issued: so its name tells all of it but the content. */
  #header(generation: number, issuedAt: number, content: string): DeviceConfigurationHeader {
    const { tenantId: tenant, deviceId: device, lifeMs } = this.#parts;
    return {
      format: deviceConfigurationFormat,
      tenant,
      device,
      generation,
      issuedAt,
      expiresAt: issuedAt + lifeMs,
      content,
    };
  }

  /** Whether what the device has is the wanted content: then it has the name that this would have. */
  #recognised(uses: ConfigurationName, { hash }: WantedRoutes): Held {
    const { generation, issuedAt } = uses;
    this.#latest = uses;
    const name = configurationName(this.#header(generation, issuedAt, hash), this.#parts.sha256);
    const content = name.hash === uses.hash ? hash : undefined;
    return { name: uses, content, renewAt: this.#renewalOf(issuedAt) };
  }

  #renewalOf(issuedAt: number): number {
    const { lifeMs, random } = this.#parts;
    return issuedAt + Math.floor(lifeMs * (renewedFrom + random() * (renewedUntil - renewedFrom)));
  }
}
