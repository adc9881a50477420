/**
 * One connection of a gateway, as a machine: what it is told comes in as calls, what is to be sent goes out through the transport. Of all
 * that is wanted of the gateway, it holds the newest alone; one configuration at a time is on its way, and the next waits for its answer.
 */
import {
  type ConfigurationHeader,
  configurationFormat,
} from "@gatehouse/contract/gateway-link/configuration";
import { type ContentTree, contentOf, contentRoot, differenceBetween } from "@gatehouse/contract/gateway-link/content-tree";
import { nameOf, signedText } from "@gatehouse/contract/gateway-link/envelope";
import type {
  Applied,
  ConfigurationName,
  Failed,
  FailureReason,
  ServerMessage,
} from "@gatehouse/contract/gateway-link/frames";
import type { HashText } from "@gatehouse/contract/gateway-link/hash-tree";
import type { SigningKey } from "./signing-keys.ts";

/** After a configuration was refused, the same content is offered again after this long at first, and at most, in milliseconds. */
const firstRetryMs = 1_000;
const longestRetryMs = 5 * 60_000;
/** A configuration that has more than this share of its life left is not sent anew only to last longer. */
const leastLifeLeft = 1 / 3;

export interface Wanted {
  readonly content: ContentTree;
  /** Of the tenant. */
  readonly generation: number;
  /** Milliseconds since 1970, until when contents say all. */
  readonly lifeUntil: number;
}

/** What a gateway enforces, as far as it is known. */
export interface EnforcedConfiguration {
  readonly name: ConfigurationName;
  readonly root: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  /** Undefined where only its root is known. */
  readonly content: ContentTree | undefined;
}

export interface SessionParts {
  readonly tenantId: string;
  readonly gatewayId: string;
  readonly key: SigningKey;
  readonly sha256: HashText;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Sends a message whole; messages keep their order. */
  readonly send: (message: ServerMessage) => void;
  readonly told: SessionListener;
}

export interface SessionListener {
  /** A configuration is on its way. */
  sent(name: ConfigurationName, root: string): void;
  /** What is wanted is enforced now, by the gateway's own account. */
  applied(enforced: EnforcedConfiguration, sentAt: number | undefined): void;
  failed(reason: FailureReason, message: string): void;
  /** It has to be asked again, by `step`, at this moment. */
  retryAt(moment: number): void;
}

interface OnItsWay {
  readonly configuration: EnforcedConfiguration & { readonly content: ContentTree };
  readonly sentAt: number;
}

export class LinkSession {
  readonly #parts: SessionParts;
  #enforced: EnforcedConfiguration | undefined;
  /** What the agent says it enforces, whether it is known here or not: what comes next has to be later. */
  #latest: ConfigurationName | undefined;
  #wanted: (Wanted & { readonly root: string }) | undefined;
  #onItsWay: OnItsWay | undefined;
  #refused: { readonly root: string; readonly again: number; readonly waitMs: number } | undefined;

  /**
   * @param latest what the gateway says it enforces; undefined: nothing
   * @param known the same, where it is known here
   */
  constructor(parts: SessionParts, latest: ConfigurationName | undefined, known: EnforcedConfiguration | undefined) {
    this.#parts = parts;
    this.#latest = latest;
    this.#enforced = known;
  }

  get enforced(): EnforcedConfiguration | undefined {
    return this.#enforced;
  }

  /** When what is on its way was sent, in milliseconds since 1970. */
  get waitingSince(): number | undefined {
    return this.#onItsWay?.sentAt;
  }

  get isSettled(): boolean {
    return this.#wanted !== undefined && this.#isEnforced(this.#wanted.root);
  }

  /**
   * From now on this is wanted, and nothing that was wanted before and has not been sent. It goes with the next `step`.
   *
   * @returns its root
   */
  prepare(wanted: Wanted): string {
    const { sha256 } = this.#parts;
    const before = this.#wanted;
    const root = before?.content === wanted.content ? before.root : contentRoot(wanted.content, sha256);
    this.#wanted = { ...wanted, root };
    return root;
  }

  /** Does what can be done now. */
  step(): void {
    const { now, told } = this.#parts;
    const wanted = this.#wanted;
    if (wanted === undefined || this.#onItsWay !== undefined) return;
    const at = now();
    const enforced = this.#enforced;
    const isKept = enforced?.root === wanted.root && this.#lastsLongEnough(enforced, wanted, at);
    if (isKept) {
      const known = { ...enforced, content: wanted.content };
      const isNews = enforced.content === undefined;
      this.#enforced = known;
      if (isNews) told.applied(known, undefined);
      return;
    }
    if (this.#refused?.root === wanted.root && at < this.#refused.again) {
      told.retryAt(this.#refused.again);
      return;
    }
    this.#send(wanted, at);
  }

  applied({ configuration }: Applied): void {
    const onItsWay = this.#onItsWay;
    // An answer to something that was sent over an earlier connection says nothing that hello did not.
    if (onItsWay?.configuration.name.hash !== configuration.hash) return;
    this.#onItsWay = undefined;
    this.#refused = undefined;
    this.#enforced = onItsWay.configuration;
    this.#latest = onItsWay.configuration.name;
    this.#parts.told.applied(onItsWay.configuration, onItsWay.sentAt);
    this.step();
  }

  failed({ configuration, reason, message }: Failed): void {
    const onItsWay = this.#onItsWay;
    if (onItsWay?.configuration.name.hash !== configuration.hash) return;
    this.#onItsWay = undefined;
    const wasDifference = this.#enforced?.content !== undefined;
    if (wasDifference && (reason === "unknown_base" || reason === "wrong_root")) {
      // The two sides mean different things by the base: once more, with everything.
      this.#enforced = undefined;
      this.step();
      return;
    }
    const { root } = onItsWay.configuration;
    const waitMs = this.#refused?.root === root ? Math.min(this.#refused.waitMs * 2, longestRetryMs) : firstRetryMs;
    this.#refused = { root, waitMs, again: this.#parts.now() + waitMs };
    this.#parts.told.failed(reason, message);
    this.step();
  }

  #isEnforced(root: string): boolean {
    return this.#enforced?.root === root && this.#onItsWay === undefined;
  }

  #lastsLongEnough({ expiresAt }: EnforcedConfiguration, { lifeUntil }: Wanted, at: number): boolean {
    return expiresAt >= lifeUntil || expiresAt - at > (lifeUntil - at) * leastLifeLeft;
  }

  #send(wanted: Wanted & { readonly root: string }, at: number): void {
    const { tenantId, gatewayId, key, sha256, send, told } = this.#parts;
    const latest = this.#latest;
    // The agent takes only what is later than what it has, whatever the clocks of replicas say, and also where a backup was restored.
    const generation = Math.max(wanted.generation, latest?.generation ?? 0);
    const issuedAt = latest?.generation === generation ? Math.max(at, latest.issuedAt + 1) : at;
    const header: ConfigurationHeader = {
      format: configurationFormat,
      tenant: tenantId,
      gateway: gatewayId,
      generation,
      issuedAt,
      expiresAt: wanted.lifeUntil,
      root: wanted.root,
    };
    const name = nameOf(header, sha256);
    const envelope = { header, signature: key.sign(signedText(name)) };
    const base = this.#enforced;
    const configuration = { name, root: wanted.root, expiresAt: header.expiresAt, content: wanted.content };
    this.#onItsWay = { configuration, sentAt: at };
    const baseContent = base?.root === wanted.root ? wanted.content : base?.content;
    if (base === undefined || baseContent === undefined) {
      send({ type: "whole", envelope, content: contentOf(wanted.content) });
    } else {
      const difference = differenceBetween(baseContent, wanted.content, sha256);
      send({ type: "difference", envelope, base: base.name, difference });
    }
    told.sent(name, wanted.root);
  }
}
