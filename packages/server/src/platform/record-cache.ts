/**
 * Rows of records as they were last read, kept so that a record need not be put together again while nothing in its tenant
 * changed. An entry is used only when the tenant's generation, read inside the fence for this very request, is still the
 * one that it was read at: a reader never sees less than what any replica had committed before.
 */
import type { RecordOutcome } from "./outcome.ts";

/** What is kept of a record, as text: it takes the least memory, and says how much. */
export type KeptRecord =
  /** The whole answer, where it holds no secret. */
  | { readonly kind: "answer"; readonly outcome: RecordOutcome & { readonly text: string } }
  /** Only the row, whose secrets are sealed: they are opened for each request anew. */
  | { readonly kind: "row"; readonly text: string };

interface Entry {
  readonly generation: number;
  readonly kept: KeptRecord;
}

/** What all entries together may take, in characters. */
const capacity = 6_000_000;

function sizeOf(key: string, { kept }: Entry): number {
  return key.length + (kept.kind === "answer" ? kept.outcome.text : kept.text).length;
}

export class RecordCache {
  /** In order of use: the first was used longest ago. */
  readonly #entries = new Map<string, Entry>();
  #size = 0;
  #hits = 0;
  #misses = 0;

  get state(): { readonly hits: number; readonly misses: number; readonly entries: number } {
    return { hits: this.#hits, misses: this.#misses, entries: this.#entries.size };
  }

  /** @param hit whether what was remembered could be told again */
  noteLookUp(hit: boolean): void {
    if (hit) this.#hits += 1;
    else this.#misses += 1;
  }

  /** @param key names tenant, operation, record, and whatever else the answer depends on */
  find(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry;
  }

  remember(key: string, generation: number, kept: KeptRecord): void {
    this.#forget(key);
    const entry = { generation, kept };
    this.#entries.set(key, entry);
    this.#size += sizeOf(key, entry);
    for (const oldest of this.#entries.keys()) {
      if (this.#size <= capacity) break;
      this.#forget(oldest);
    }
  }

  /** For when the generations themselves may have started over: a database that was restored from a backup. */
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
