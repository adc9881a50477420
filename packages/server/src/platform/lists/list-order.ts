/** The ids of a whole list in one order, and optionally the names by which they are searched. */

/** The part of a list that a page shows. */
export interface OrderedPage {
  /** 16 bytes each. */
  readonly ids: Buffer;
  readonly total: number;
}

interface NameChunk {
  readonly text: string;
  /** The end of each name in the text. */
  readonly ends: Uint32Array;
  /** The number of ids before this chunk. */
  readonly first: number;
  readonly bytes: number;
}

/** Separates names. No readable name contains it. */
export const nameSeparator = "\u0001";
const separatorByte = 1;
/** The number of names that are searched at once. A chunk must not block the event loop. */
const namesPerChunk = 4_096;

export class ListOrder {
  readonly generation: number;
  readonly #ids: Buffer;
  readonly #names: readonly NameChunk[] | undefined;

  private constructor(generation: number, ids: Buffer, names: readonly NameChunk[] | undefined) {
    this.generation = generation;
    this.#ids = ids;
    this.#names = names;
  }

  /**
   * @param ids 16 bytes each
   * @param names in lower case and in UTF-8, separated by `nameSeparator`; undefined if the order is not searched
   * @param pause waits until other work has had its turn
   * @returns undefined if a name contains the separator
   */
  static async of(
    generation: number,
    ids: Buffer,
    names: Buffer | undefined,
    pause: () => Promise<unknown>,
  ): Promise<ListOrder | undefined> {
    if (names === undefined) return new ListOrder(generation, ids, undefined);
    const count = ids.length / 16;
    const chunks: NameChunk[] = [];
    let start = 0;
    for (let first = 0; first < count; first += namesPerChunk) {
      const expected = Math.min(namesPerChunk, count - first);
      const end = endOfNames(names, start, expected);
      const text = names.toString("utf8", start, end);
      const ends = endsOf(text, expected);
      if (ends === undefined) return undefined;
      // V8 needs two bytes for each character of other texts.
      const bytesEach = text.length === end - start ? 1 : 2;
      chunks.push({ text, ends, first, bytes: text.length * bytesEach + ends.byteLength });
      start = end + 1;
      await pause();
    }
    // A name contains the separator.
    if (count > 0 && start !== names.length + 1) return undefined;
    return new ListOrder(generation, ids, chunks);
  }

  get length(): number {
    return this.#ids.length / 16;
  }

  get canBeSearched(): boolean {
    return this.#names !== undefined;
  }

  /** The memory of the order, in bytes. */
  get size(): number {
    const names = this.#names ?? [];
    return names.reduce((sum, { bytes }) => sum + bytes, this.#ids.length) + 1_000;
  }

  page(offset: number, limit: number): OrderedPage {
    const ids = this.#ids.subarray(Math.min(offset * 16, this.#ids.length), (offset + limit) * 16);
    return { ids, total: this.length };
  }

  /** @param part not empty, in lower case, without the separator */
  search(part: string, offset: number, limit: number): OrderedPage {
    const places: number[] = [];
    let total = 0;
    for (const { text, ends, first } of this.#names ?? []) {
      let index = 0;
      for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, ends[index])) {
        while ((ends[index] ?? 0) <= at) index += 1;
        if (total >= offset && total < offset + limit) places.push(first + index);
        total += 1;
      }
    }
    const ids = Buffer.allocUnsafe(places.length * 16);
    for (const [index, place] of places.entries()) this.#ids.copy(ids, index * 16, place * 16, place * 16 + 16);
    return { ids, total };
  }
}

/** The position after a number of names. */
function endOfNames(names: Buffer, start: number, count: number): number {
  let end = start - 1;
  for (let index = 0; index < count; index += 1) {
    end = names.indexOf(separatorByte, end + 1);
    if (end < 0) return names.length;
  }
  return end;
}

/** Returns undefined if the text does not have this number of names. */
function endsOf(text: string, count: number): Uint32Array | undefined {
  const ends = new Uint32Array(count);
  let at = 0;
  for (let index = 0; index < count; index += 1) {
    const end = text.indexOf(nameSeparator, at);
    if (end < 0 !== (index === count - 1)) return undefined;
    ends[index] = end < 0 ? text.length : end;
    at = end + 1;
  }
  return ends;
}
