/**
 * Rows of records as they were last read, kept so that a record need not be put together again while nothing in its tenant
 * changed. An entry is used only when the tenant's generation, read inside the fence for this very request, is still the
 * one that it was read at: a reader never sees less than what any replica had committed before.
 */
import type { RecordOutcome } from "./outcome.ts";

interface Entry {
  readonly generation: number;
  readonly row: object;
  /** The answer, where it holds no secret. Secrets stay sealed in the row, and are opened for each request anew. */
  readonly outcome: RecordOutcome | undefined;
  readonly size: number;
}

/** What all entries together may take, in characters of JSON. */
const capacity = 16_000_000;

export class RecordCache {
  /** In order of use: the first was used longest ago. */
  readonly #entries = new Map<string, Entry>();
  #size = 0;

  /** @param key names tenant, operation, record, and whatever else the answer depends on */
  find(key: string): Omit<Entry, "size"> | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry;
  }

  /** @param outcome the answer made of the row, when it holds no secret */
  remember(key: string, generation: number, row: object, outcome: RecordOutcome | undefined): void {
    const text = JSON.stringify(outcome?.body ?? row);
    const size = 2 * text.length + key.length;
    this.#forget(key);
    this.#entries.set(key, { generation, row, outcome: outcome && { ...outcome, text }, size });
    this.#size += size;
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
    this.#size -= this.#entries.get(key)?.size ?? 0;
    this.#entries.delete(key);
  }
}
