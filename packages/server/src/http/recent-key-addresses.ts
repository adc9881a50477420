/**
 * Remembers which keys were recently accepted from which addresses, so that these keys keep working from a blocked
 * address.
 */
import type { Clock } from "../platform/clock.ts";
import { hashToken } from "../platform/secrets/tokens.ts";

/** The most remembered pairs of key and address. */
const capacity = 20_000;
/** How long a pair is remembered after its last use, in milliseconds. */
const rememberedForMs = 60 * 60 * 1000;
/** The interval at which an active key is recorded, in milliseconds, instead of with each request. */
const noteEveryMs = 60_000;

export class RecentKeyAddresses {
  readonly #clock: Clock;
  /** The time at which each pair was recorded, by `clock.elapsedMs()`, the oldest first. */
  readonly #pairs = new Map<string, number>();
  /** The last recording of each caller. A caller is the same object while its key's row is cached. */
  readonly #noted = new WeakMap<object, { readonly address: string; readonly at: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Records the use of a key.
   *
   * @param address as `groupOf` accepts it
   */
  note(caller: object, key: string, address: string, groupOf: (address: string) => string): void {
    const at = this.#clock.elapsedMs();
    const last = this.#noted.get(caller);
    if (last !== undefined && last.address === address && at - last.at < noteEveryMs) return;
    this.#noted.set(caller, { address, at });
    const pair = nameOf(key, groupOf(address));
    this.#pairs.delete(pair);
    this.#pairs.set(pair, at);
    const [oldest] = this.#pairs.size > capacity ? this.#pairs.keys() : [];
    if (oldest !== undefined) this.#pairs.delete(oldest);
  }

  knows(key: string, group: string): boolean {
    const notedAt = this.#pairs.get(nameOf(key, group));
    return notedAt !== undefined && this.#clock.elapsedMs() - notedAt < rememberedForMs;
  }

  /** Forgets a key that is no longer valid, so that it is not looked up repeatedly because it once was valid. */
  forget(key: string, group: string): void {
    this.#pairs.delete(nameOf(key, group));
  }
}

function nameOf(key: string, group: string): string {
  return `${hashToken(key).toString("base64")} ${group}`;
}
