/**
 * Caches the rows of presented keys. A cached row is trusted only as long as the outbox confirms it, so a key that is
 * revoked on any replica stops working here within a second.
 */
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { OutboxFollower } from "../../platform/outbox/outbox-follower.ts";
import { hashToken } from "../../platform/secrets/tokens.ts";
import { findPresentedKey, type PresentedKeyRow } from "./api-keys.queries.ts";

/** The number of keys that are cached at most. */
const capacity = 20_000;
/** The maximum age of the outbox confirmation of a cached row, in milliseconds. */
const confirmedForMs = 800;

interface Remembered<T> {
  readonly value: T;
  /** The time of the read, by `clock.elapsedMs()`. */
  readonly readAt: number;
}

export interface KeyCacheOptions<T> {
  readonly database: Database;
  readonly follower: OutboxFollower;
  readonly clock: Clock;
  /** Derives the cached value from a row, once per read. */
  readonly prepare: (row: PresentedKeyRow) => T;
}

export class KeyCache<T extends { readonly tenantId: string }> {
  readonly #options: KeyCacheOptions<T>;
  /** Cached entries by the SHA-256 of the key, so that lookup times reveal nothing about the key. */
  readonly #remembered = new Map<string, Remembered<T>>();
  /** Reads in progress, shared by concurrent requests. */
  readonly #running = new Map<string, { readonly result: Promise<T | undefined>; readonly startedAt: number }>();
  /** Counts invalidations. The result of a read that started before an invalidation must not be cached. */
  #forgotten = 0;
  #hits = 0;
  #misses = 0;

  constructor(options: KeyCacheOptions<T>) {
    this.#options = options;
    options.follower.subscribe({
      changed: ({ tenantId, changes }) => {
        if (changes.some(({ type }) => type === "api-key" || type === "tenant")) this.#forget(tenantId);
      },
      missed: () => this.#forget(undefined),
    });
  }

  get state(): { readonly hits: number; readonly misses: number; readonly entries: number } {
    return { hits: this.#hits, misses: this.#misses, entries: this.#remembered.size };
  }

  /** @throws AppError database_unavailable if the key is not cached and the database cannot be reached */
  find(key: string): T | undefined | Promise<T | undefined> {
    return this.findByHash(hashToken(key));
  }

  /** @throws AppError like `find` */
  findByHash(hash: Buffer): T | undefined | Promise<T | undefined> {
    const name = hash.toString("base64");
    const known = this.#remembered.get(name);
    if (known !== undefined && this.#isTrusted(known)) {
      this.#hits += 1;
      return known.value;
    }
    this.#misses += 1;
    const startedAt = this.#options.clock.elapsedMs();
    const running = this.#running.get(name);
    // The result of a slow read may be outdated when it arrives.
    if (running !== undefined && startedAt - running.startedAt < confirmedForMs) return running.result;
    const reading = {
      startedAt,
      result: this.#read(name, hash, startedAt).finally(() => {
        if (this.#running.get(name) === reading) this.#running.delete(name);
      }),
    };
    this.#running.set(name, reading);
    return reading.result;
  }

  #isTrusted({ readAt }: Remembered<T>): boolean {
    const { clock, follower } = this.#options;
    return clock.elapsedMs() - Math.max(readAt, follower.currentAsOf) < confirmedForMs;
  }

  async #read(name: string, hash: Buffer, readAt: number): Promise<T | undefined> {
    const { database, prepare } = this.#options;
    const forgotten = this.#forgotten;
    const row = await findPresentedKey(database, hash);
    this.#remembered.delete(name);
    if (row === undefined) return undefined;
    const value = prepare(row);
    if (forgotten === this.#forgotten) {
      const [oldest] = this.#remembered.size < capacity ? [] : this.#remembered.keys();
      if (oldest !== undefined) this.#remembered.delete(oldest);
      this.#remembered.set(name, { value, readAt });
    }
    return value;
  }

  /** @param tenantId the tenant whose keys are dropped; undefined for all tenants */
  #forget(tenantId: string | undefined): void {
    this.#forgotten += 1;
    for (const [name, { value }] of this.#remembered) {
      if (tenantId === undefined || value.tenantId === tenantId) this.#remembered.delete(name);
    }
  }
}
