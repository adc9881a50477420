/**
 * Limits the requests of each key and the failed authentications of each address (docs/decisions/0023-rate-limits.md).
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../platform/app-error.ts";
import type { Clock } from "../platform/clock.ts";
import { addressGroup } from "../platform/rate-limits/address-group.ts";
import type { Counted, WindowCounts } from "../platform/rate-limits/window-counts.ts";
import type { Caller } from "./caller.ts";
import { clientAddress } from "./client-address.ts";
import { RecentKeyAddresses } from "./recent-key-addresses.ts";

/** A limit and its counts, whose window is the limit's. */
export interface RateLimit {
  /** The limit; at least 1. */
  readonly max: number;
  readonly counts: WindowCounts;
}

export interface RateLimitOptions {
  /** Limit for the requests of one key; undefined for no limit. */
  readonly requests: RateLimit | undefined;
  /** Limit for failed authentications from one address; undefined for no limit. */
  readonly failures: RateLimit | undefined;
  readonly clock: Clock;
}

/**
 * Counts synchronously: almost every request is counted, and a promise would cost more than the count. Replicas share
 * their counts in the background.
 */
export class RateLimits {
  readonly #requests: RateLimit | undefined;
  readonly #failures: RateLimit | undefined;
  readonly #recentAddresses: RecentKeyAddresses;

  constructor({ requests, failures, clock }: RateLimitOptions) {
    this.#requests = requests;
    this.#failures = failures;
    this.#recentAddresses = new RecentKeyAddresses(clock);
  }

  /**
   * Rejects an address with too many failures before its credential is examined, unless the credential was recently
   * accepted from the address.
   *
   * @throws AppError too_many_failed_authentications
   */
  requireUnblockedAddress(request: FastifyRequest, reply: FastifyReply, credential: string | undefined): void {
    const failures = this.#failures;
    if (failures === undefined || failures.counts.size === 0) return;
    const counted = failures.counts.read(addressNameOf(request));
    if (counted.count < failures.max) return;
    if (credential !== undefined && this.#recentAddresses.knows(credential, groupOf(request))) return;
    describe(reply, failures, counted);
    throw new AppError("too_many_failed_authentications", { retryAfterSeconds: secondsOf(counted) });
  }

  /** Counts a failed authentication. */
  countFailure(request: FastifyRequest, credential: string | undefined): void {
    const failures = this.#failures;
    if (failures === undefined) return;
    const { count } = failures.counts.add(addressNameOf(request));
    if (count <= failures.max || credential === undefined) return;
    this.#recentAddresses.forget(credential, groupOf(request));
  }

  /**
   * Counts a request that anyone can send and that can lead to a request to an identity provider. An office can send
   * many at once, so the limit is higher than the one of failures, and does not block the address otherwise.
   *
   * @throws AppError rate_limited
   */
  countVisit(request: FastifyRequest, reply: FastifyReply): void {
    const failures = this.#failures;
    if (failures === undefined) return;
    const limit = { ...failures, max: failures.max * visitsPerFailure };
    const counted = limit.counts.add(`visits:${addressNameOf(request)}`);
    if (counted.count <= limit.max) return;
    describe(reply, limit, counted);
    throw new AppError("rate_limited", {
      detail: "Too many requests that use identity providers came from this address. Wait for Retry-After seconds.",
      retryAfterSeconds: secondsOf(counted),
    });
  }

  noteAccepted(caller: Caller, credential: string, address: string): void {
    if (this.#failures !== undefined) this.#recentAddresses.note(caller, credential, address, addressGroup);
  }

  /** Remembers credentials of a person who has just signed in, so that they stay accepted from a blocked address. */
  noteSignedIn(credentials: readonly string[], address: string): void {
    if (this.#failures === undefined) return;
    for (const credential of credentials) this.#recentAddresses.note({}, credential, address, addressGroup);
  }

  /**
   * Counts a request of the caller's key, and sets the rate-limit headers of the reply.
   *
   * @returns the error to reject the request with, if the limit is exceeded
   */
  countRequest(caller: Caller, reply: FastifyReply): AppError | undefined {
    const requests = this.#requests;
    if (requests === undefined) return undefined;
    const counted = requests.counts.add(keyNameOf(caller));
    describe(reply, requests, counted);
    if (counted.count <= requests.max) return undefined;
    return new AppError("rate_limited", {
      detail: `The API key has used its ${requests.max} requests for this minute. Wait for Retry-After seconds.`,
      retryAfterSeconds: secondsOf(counted),
    });
  }
}

/** The visits of an address for each failure that it may cause. */
const visitsPerFailure = 10;

/** Sets the headers of draft-ietf-httpapi-ratelimit-headers, revisions 03 to 07, which clients support. */
function describe(reply: FastifyReply, { max }: RateLimit, counted: Counted): void {
  reply
    .header("ratelimit-limit", max)
    .header("ratelimit-remaining", Math.max(0, max - counted.count))
    .header("ratelimit-reset", secondsOf(counted));
}

function secondsOf({ endsInMs }: Counted): number {
  return Math.ceil(endsInMs / 1_000);
}

const keyNames = new WeakMap<Caller, string>();

function keyNameOf(caller: Caller): string {
  let name = keyNames.get(caller);
  if (name === undefined) {
    name = `key:${caller.actor.id ?? "operator"}`;
    keyNames.set(caller, name);
  }
  return name;
}

function addressNameOf(request: FastifyRequest): string {
  return `address:${groupOf(request)}`;
}

function groupOf(request: FastifyRequest): string {
  return addressGroup(clientAddress(request));
}
