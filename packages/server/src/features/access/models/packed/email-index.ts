import { entryCost, recordsAtOnce, type Work } from "@gatehouse/policy/work";
import { hashedWith, hashStart, type PackedRecords, slotsFor } from "./packed-records.ts";

/**
 * Finds packed users by email address. It shows the users as they were when it was built, so its users must still be
 * compared with the present ones.
 */
export class EmailIndex {
  readonly #users: PackedRecords<unknown>;
  /** A hash table of references to rows of users; 0 is a free slot. */
  readonly #slots: Uint32Array;

  private constructor(users: PackedRecords<unknown>, slots: Uint32Array) {
    this.#users = users;
    this.#slots = slots;
  }

  /**
   * @param users their rows contain the address after the id
   * @param keyOf converts addresses that are the same to the same text
   */
  static *indexing(users: PackedRecords<unknown>, keyOf: (email: string) => string): Work<EmailIndex> {
    const slots = new Uint32Array(slotsFor(users.size));
    const mask = slots.length - 1;
    let unpaid = 0;
    for (const reference of users.references()) {
      let slot = hashOf(keyOf(users.textAt(reference))) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = reference;
      unpaid += 1;
      if (unpaid < recordsAtOnce) continue;
      yield unpaid * indexedCost;
      unpaid = 0;
    }
    return new EmailIndex(users, slots);
  }

  /** Ids of users who may have an address. */
  *candidates(key: string): Iterable<string> {
    const mask = this.#slots.length - 1;
    for (let slot = hashOf(key) & mask; ; slot = (slot + 1) & mask) {
      const reference = this.#slots[slot];
      if (reference === undefined || reference === 0) return;
      yield this.#users.idAt(reference);
    }
  }
}

/** The cost of indexing an address, in rule-cost units. */
const indexedCost = 6 * entryCost;

function hashOf(text: string): number {
  let hash = hashStart;
  for (let at = 0; at < text.length; at += 1) hash = hashedWith(hash, text.charCodeAt(at));
  return hash;
}
