/** Which keys were accepted from which addresses lately, so that an address that is refused need not refuse those. */
import type { Clock } from "../platform/clock.ts";
import { hashToken } from "../platform/secrets/tokens.ts";
import type { Caller } from "./caller.ts";

/** Pairs of key and address remembered at most. */
const capacity = 20_000;
/** How long after its last use a key is still known at an address, in milliseconds. */
const rememberedForMs = 60 * 60 * 1000;
/** A key that is in use is noted this often, in milliseconds: not with each request. */
const noteEveryMs = 60_000;

export class AcquaintedKeys {
  readonly #clock: Clock;
  /** When each pair was noted, by `clock.elapsedMs()`; the first was noted longest ago. */
  readonly #pairs = new Map<string, number>();
  /** What was last noted for a caller. A caller is the same object for as long as its key's row is remembered. */
  readonly #noted = new WeakMap<Caller, { readonly address: string; readonly at: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param address as `groupOf` takes it */
  note(caller: Caller, key: string, address: string, groupOf: (address: string) => string): void {
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

  /** For a key that has become wrong: it must not be looked up again and again because it once was right. */
  forget(key: string, group: string): void {
    this.#pairs.delete(nameOf(key, group));
  }
}

function nameOf(key: string, group: string): string {
  return `${hashToken(key).toString("base64")} ${group}`;
}
