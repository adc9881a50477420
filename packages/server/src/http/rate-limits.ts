/** How often a key may ask, and how often an address may fail to authenticate (docs/decisions/0023-rate-limits.md). */
import { isIP } from "node:net";
import rateLimit, { type FastifyRateLimitStore, normalizeIP } from "@fastify/rate-limit";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../platform/app-error.ts";
import type { Clock } from "../platform/clock.ts";
import type { WindowCounts } from "../platform/rate-limits/window-counts.ts";
import { AcquaintedKeys } from "./acquainted-keys.ts";
import type { Caller } from "./caller.ts";

/** A limit and the counts that it is held against, whose window is the limit's. */
export interface RateLimit {
  /** At least 1. */
  readonly most: number;
  readonly windowMs: number;
  readonly counts: WindowCounts;
}

export interface RateLimitOptions {
  /** Requests of one key; undefined for any number. */
  readonly requests: RateLimit | undefined;
  /** Failed authentications from one address; undefined for any number. */
  readonly failures: RateLimit | undefined;
  readonly clock: Clock;
}

type Limiter = ReturnType<FastifyInstance["createRateLimit"]>;
type Verdict = Extract<Awaited<ReturnType<Limiter>>, { isAllowed: false }>;

export class RateLimits {
  readonly #options: RateLimitOptions;
  readonly #acquainted: AcquaintedKeys;
  // Set while the app starts, before it takes requests.
  #requests: Limiter | undefined;
  #failures: Limiter | undefined;

  constructor(app: FastifyInstance, options: RateLimitOptions) {
    this.#options = options;
    this.#acquainted = new AcquaintedKeys(options.clock);
    createLimiter(app, options.requests, keyNameOf, (limiter) => {
      this.#requests = limiter;
    });
    createLimiter(app, options.failures, addressNameOf, (limiter) => {
      this.#failures = limiter;
    });
  }

  /**
   * Before a key or a session is looked at: an address that failed too often is refused, unless it was accepted from there
   * lately.
   *
   * @throws AppError too_many_failed_authentications
   */
  async requireFreshAddress(
    request: FastifyRequest,
    reply: FastifyReply,
    credential: string | undefined,
  ): Promise<void> {
    const { failures } = this.#options;
    if (this.#failures === undefined || failures === undefined || failures.counts.size === 0) return;
    const verdict = limited(await this.#failures(request, { increment: false }));
    if (verdict === undefined || verdict.remaining > 0) return;
    if (credential !== undefined && this.#acquainted.knows(credential, addressGroup(request.ip))) return;
    describe(reply, verdict);
    throw new AppError("too_many_failed_authentications", { retryAfterSeconds: verdict.ttlInSeconds });
  }

  /** A key or a session was refused, or there was none. */
  async noteFailure(request: FastifyRequest, credential: string | undefined): Promise<void> {
    if (this.#failures === undefined) return;
    const verdict = limited(await this.#failures(request));
    if (verdict?.isExceeded !== true || credential === undefined) return;
    this.#acquainted.forget(credential, addressGroup(request.ip));
  }

  noteAccepted(caller: Caller, credential: string, address: string): void {
    if (this.#failures !== undefined) this.#acquainted.note(caller, credential, address, addressGroup);
  }

  /**
   * Counts a request of the caller's key, and tells in the reply's headers what is left.
   *
   * @returns what to refuse the request with, where it is one too many
   */
  async countRequest(request: FastifyRequest, reply: FastifyReply): Promise<AppError | undefined> {
    if (this.#requests === undefined) return undefined;
    const verdict = limited(await this.#requests(request));
    if (verdict === undefined) return undefined;
    describe(reply, verdict);
    return verdict.isExceeded
      ? new AppError("rate_limited", {
          detail: `The key may make ${verdict.max} requests a minute.`,
          retryAfterSeconds: verdict.ttlInSeconds,
        })
      : undefined;
  }
}

/** The fields of draft-ietf-httpapi-ratelimit-headers in the form of its revisions 03 to 07, which is what clients read. */
function describe(reply: FastifyReply, { max, remaining, ttlInSeconds }: Verdict): void {
  reply.header("RateLimit-Limit", max).header("RateLimit-Remaining", remaining).header("RateLimit-Reset", ttlInSeconds);
}

function limited(verdict: Awaited<ReturnType<Limiter>>): Verdict | undefined {
  return verdict.isAllowed ? undefined : verdict; // "allowed" is the plugin's word for not counted at all
}

function keyNameOf(request: FastifyRequest): string {
  return `key:${request.caller?.actor.id ?? "operator"}`;
}

function addressNameOf(request: FastifyRequest): string {
  return `address:${addressGroup(request.ip)}`;
}

/** An address as one counts it: of IPv6 the /64, which is the least that anybody is given. */
function addressGroup(address: string): string {
  // A connection that is gone has none; a proxy may report anything.
  return isIP(address) === 0 ? "unknown" : normalizeIP(address, 64);
}

/** In a scope of its own: the plugin keeps one store for each. */
function createLimiter(
  app: FastifyInstance,
  limit: RateLimit | undefined,
  keyGenerator: (request: FastifyRequest) => string,
  use: (limiter: Limiter) => void,
): void {
  if (limit === undefined) return;
  const { most, windowMs, counts } = limit;
  void app.register(async (scope) => {
    await scope.register(rateLimit, {
      global: false,
      max: most,
      timeWindow: windowMs,
      store: storeOver(counts),
      keyGenerator,
    });
    use(scope.createRateLimit());
  });
}

type CountedCallback = Parameters<FastifyRateLimitStore["incr"]>[1];

/** The counts as the plugin asks them. */
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
