import { entryCost, recordsAtOnce, type Work } from "@gatehouse/policy/work";
import { type PackedRecords, slotsFor } from "./packed-records.ts";
import { textHash } from "./text-hash.ts";

/**
 * Finds packed records by the text that follows the id in their rows: users by email address, and resources by name. It
 * shows the records as they were when it was built, so its records must still be compared with the current ones.
 */
export class TextIndex {
  readonly #records: PackedRecords<unknown>;
  /** A hash table of references to rows; 0 is a free slot. */
  readonly #slots: Uint32Array;

  private constructor(records: PackedRecords<unknown>, slots: Uint32Array) {
    this.#records = records;
    this.#slots = slots;
  }

  /** @param keyOf converts texts that are the same to the same key */
  static *indexing(records: PackedRecords<unknown>, keyOf: (text: string) => string): Work<TextIndex> {
    const slots = new Uint32Array(slotsFor(records.size));
    const mask = slots.length - 1;
    let unpaid = 0;
    for (const reference of records.references()) {
      let slot = textHash(keyOf(records.textAt(reference))) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = reference;
      unpaid += 1;
      if (unpaid < recordsAtOnce) continue;
      yield unpaid * indexedCost;
      unpaid = 0;
    }
    return new TextIndex(records, slots);
  }

  /** Ids of records that may have a key. */
  *candidates(key: string): Iterable<string> {
    const mask = this.#slots.length - 1;
    for (let slot = textHash(key) & mask; ; slot = (slot + 1) & mask) {
      const reference = this.#slots[slot];
      if (reference === undefined || reference === 0) return;
      yield this.#records.idAt(reference);
    }
  }
}

/** The cost of indexing a text, in rule-cost units. */
const indexedCost = 6 * entryCost;
