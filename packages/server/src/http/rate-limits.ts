/**
 * Limits the requests of each key and the failed authentications of each address (docs/decisions/0023-rate-limits.md).
 */
import { isIP } from "node:net";
import rateLimit, { type FastifyRateLimitStore, normalizeIP } from "@fastify/rate-limit";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../platform/app-error.ts";
import type { Clock } from "../platform/clock.ts";
import type { WindowCounts } from "../platform/rate-limits/window-counts.ts";
import type { Caller } from "./caller.ts";
import { RecentKeyAddresses } from "./recent-key-addresses.ts";

/** A limit and its counts, whose window is the limit's. */
export interface RateLimit {
  /** The limit; at least 1. */
  readonly max: number;
  readonly windowMs: number;
  readonly counts: WindowCounts;
}

export interface RateLimitOptions {
  /** Limit for the requests of one key; undefined for no limit. */
  readonly requests: RateLimit | undefined;
  /** Limit for failed authentications from one address; undefined for no limit. */
  readonly failures: RateLimit | undefined;
  readonly clock: Clock;
}

type Limiter = ReturnType<FastifyInstance["createRateLimit"]>;
type Verdict = Extract<Awaited<ReturnType<Limiter>>, { isAllowed: false }>;

export class RateLimits {
  readonly #options: RateLimitOptions;
  readonly #recentAddresses: RecentKeyAddresses;
  // Set during the start of the app, before it accepts requests.
  #requests: Limiter | undefined;
  #failures: Limiter | undefined;

  constructor(app: FastifyInstance, options: RateLimitOptions) {
    this.#options = options;
    this.#recentAddresses = new RecentKeyAddresses(options.clock);
    createLimiter(app, options.requests, keyNameOf, (limiter) => {
      this.#requests = limiter;
    });
    createLimiter(app, options.failures, addressNameOf, (limiter) => {
      this.#failures = limiter;
    });
  }

  /**
   * Rejects an address with too many failures before its credential is examined, unless the credential was recently
   * accepted from the address.
   *
   * @throws AppError too_many_failed_authentications
   */
  async requireUnblockedAddress(
    request: FastifyRequest,
    reply: FastifyReply,
    credential: string | undefined,
  ): Promise<void> {
    const { failures } = this.#options;
    if (this.#failures === undefined || failures === undefined || failures.counts.size === 0) return;
    const verdict = limited(await this.#failures(request, { increment: false }));
    if (verdict === undefined || verdict.remaining > 0) return;
    if (credential !== undefined && this.#recentAddresses.knows(credential, addressGroup(request.ip))) return;
    describe(reply, verdict);
    throw new AppError("too_many_failed_authentications", { retryAfterSeconds: verdict.ttlInSeconds });
  }

  /** Counts a failed authentication. */
  async countFailure(request: FastifyRequest, credential: string | undefined): Promise<void> {
    if (this.#failures === undefined) return;
    const verdict = limited(await this.#failures(request));
    if (verdict?.isExceeded !== true || credential === undefined) return;
    this.#recentAddresses.forget(credential, addressGroup(request.ip));
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
  async countRequest(request: FastifyRequest, reply: FastifyReply): Promise<AppError | undefined> {
    if (this.#requests === undefined) return undefined;
    const verdict = limited(await this.#requests(request));
    if (verdict === undefined) return undefined;
    describe(reply, verdict);
    return verdict.isExceeded
      ? new AppError("rate_limited", {
          detail: `The API key has used its ${verdict.max} requests for this minute. Wait for Retry-After seconds.`,
          retryAfterSeconds: verdict.ttlInSeconds,
        })
      : undefined;
  }
}

/** Sets the headers of draft-ietf-httpapi-ratelimit-headers, revisions 03 to 07, which clients support. */
function describe(reply: FastifyReply, { max, remaining, ttlInSeconds }: Verdict): void {
  reply.header("RateLimit-Limit", max).header("RateLimit-Remaining", remaining).header("RateLimit-Reset", ttlInSeconds);
}

function limited(verdict: Awaited<ReturnType<Limiter>>): Verdict | undefined {
  return verdict.isAllowed ? undefined : verdict; // "allowed" is the plugin's term for uncounted requests
}

function keyNameOf(request: FastifyRequest): string {
  return `key:${request.caller?.actor.id ?? "operator"}`;
}

function addressNameOf(request: FastifyRequest): string {
  return `address:${addressGroup(request.ip)}`;
}

/** The address for counting: for IPv6 its /64, the smallest block that is assigned to a customer. */
export function addressGroup(address: string): string {
  // A closed connection has no address, and a proxy can report anything.
  return isIP(address) === 0 ? "unknown" : normalizeIP(address, 64);
}

/** Uses a separate scope, because the plugin has one store per scope. */
function createLimiter(
  app: FastifyInstance,
  limit: RateLimit | undefined,
  keyGenerator: (request: FastifyRequest) => string,
  use: (limiter: Limiter) => void,
): void {
  if (limit === undefined) return;
  const { max, windowMs, counts } = limit;
  void app.register(async (scope) => {
    await scope.register(rateLimit, {
      global: false,
      max,
      timeWindow: windowMs,
      store: storeOver(counts),
      keyGenerator,
    });
    use(scope.createRateLimit());
  });
}

type CountedCallback = Parameters<FastifyRateLimitStore["incr"]>[1];

/** Adapts the counts to the plugin's store interface. */
function storeOver(counts: WindowCounts) {
  return class Store implements FastifyRateLimitStore {
    incr(name: string, callback: CountedCallback): void {
      const { count, endsInMs } = counts.add(name);
      callback(null, { current: count, ttl: endsInMs });
    }

    read(name: string, callback: CountedCallback): void {
      const { count, endsInMs } = counts.read(name);
      callback(null, { current: count, ttl: endsInMs });
    }

    child(): FastifyRateLimitStore {
      return this;
    }
  };
}
