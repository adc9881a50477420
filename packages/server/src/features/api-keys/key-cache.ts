/**
 * Finds the row of a presented key without asking the database each time, and never trusts what it remembers longer than
 * the outbox vouches for it: a key that was revoked anywhere stops working here within a second.
 */
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { OutboxFollower } from "../../platform/outbox/outbox-follower.ts";
import { hashToken } from "../../platform/secrets/tokens.ts";
import { findPresentedKey, type PresentedKeyRow } from "./api-keys.queries.ts";

/** Keys remembered at most. */
const capacity = 20_000;
/** How old knowledge may be that a remembered key is still valid, in milliseconds. */
const trustedForMs = 800;

interface Remembered<T> {
  readonly value: T;
  /** When the row was read, by `clock.elapsedMs()`. */
  readonly readAt: number;
}

export interface KeyCacheOptions<T> {
  readonly database: Database;
  readonly follower: OutboxFollower;
  readonly clock: Clock;
  /** What is made of a row, once for each reading. */
  readonly prepare: (row: PresentedKeyRow) => T;
}

export class KeyCache<T extends { readonly tenantId: string }> {
  readonly #options: KeyCacheOptions<T>;
  /** By the key's SHA-256, so that how long a look-up takes tells nothing about the key itself. */
  readonly #remembered = new Map<string, Remembered<T>>();
  /** Readings under way, which requests that come meanwhile share. */
  readonly #running = new Map<string, { readonly result: Promise<T | undefined>; readonly startedAt: number }>();
  /** Counts what the outbox made us forget: a reading that began before must not be remembered after. */
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

  /** @throws AppError database_unavailable, when it has to ask and cannot */
  find(key: string): T | undefined | Promise<T | undefined> {
    return this.findByHash(hashToken(key));
  }

  /** @throws AppError as `find` does */
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
    // What a slow database began to read long ago may be outdated when it arrives.
    if (running !== undefined && startedAt - running.startedAt < trustedForMs) return running.result;
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
    return clock.elapsedMs() - Math.max(readAt, follower.currentAsOf) < trustedForMs;
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

  /** @param tenantId whose keys; undefined for everybody's */
  #forget(tenantId: string | undefined): void {
    this.#forgotten += 1;
    for (const [name, { value }] of this.#remembered) {
      if (tenantId === undefined || value.tenantId === tenantId) this.#remembered.delete(name);
    }
  }
}
