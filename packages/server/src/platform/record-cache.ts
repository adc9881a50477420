/**
 * A cache of records, so that a record is not assembled again while nothing in its tenant changes. An entry is used
 * only if the tenant's generation, read inside the fence for this request, is still the generation of the entry. A
 * reader therefore never sees less than what any replica had committed before.
 */
import type { RecordOutcome } from "./outcome.ts";

/** A cached record as text, which takes the least memory and makes its size known. */
export type CachedRecord =
  /** The complete response, if it contains no secret. */
  | { readonly kind: "answer"; readonly outcome: RecordOutcome & { readonly text: string } }
  /** Only the row with encrypted secrets, which are decrypted for each request. */
  | { readonly kind: "row"; readonly text: string };

interface Entry {
  readonly generation: number;
  readonly kept: CachedRecord;
}

/** The most characters of all entries together. */
const capacity = 6_000_000;

function sizeOf(key: string, { kept }: Entry): number {
  return key.length + (kept.kind === "answer" ? kept.outcome.text : kept.text).length;
}

export class RecordCache {
  /** Ordered by last use, the least recent first. */
  readonly #entries = new Map<string, Entry>();
  #size = 0;
  #hits = 0;
  #misses = 0;

  get state(): { readonly hits: number; readonly misses: number; readonly entries: number } {
    return { hits: this.#hits, misses: this.#misses, entries: this.#entries.size };
  }

  /** @param hit whether the cached entry was usable */
  noteLookUp(hit: boolean): void {
    if (hit) this.#hits += 1;
    else this.#misses += 1;
  }

  /** @param key identifies tenant, operation, record, and everything else that the response depends on */
  find(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry;
  }

  remember(key: string, generation: number, kept: CachedRecord): void {
    this.#forget(key);
    const entry = { generation, kept };
    this.#entries.set(key, entry);
    this.#size += sizeOf(key, entry);
    for (const oldest of this.#entries.keys()) {
      if (this.#size <= capacity) break;
      this.#forget(oldest);
    }
  }

  /** Clears the cache after generations may have restarted, when a database was restored from a backup. */
  clear(): void {
    this.#entries.clear();
    this.#size = 0;
  }

  #forget(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#size -= sizeOf(key, entry);
    this.#entries.delete(key);
  }
}
