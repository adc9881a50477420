/**
 * Records of a large tenant as text outside of the JavaScript heap. A record becomes an object when it is asked for. A
 * million objects would need several times the memory, and minutes of garbage collection.
 */
import { nextGenerations } from "@gatehouse/policy/model/generation";
import { RecentValues } from "@gatehouse/policy/model/recent-values";
import type { Records } from "@gatehouse/policy/model/table";
import { copyCost, entryCost, recordsAtOnce, type Work, yieldAfter } from "@gatehouse/policy/work";
import { PageLists } from "./page-lists.ts";

/**
 * Converts records to rows and back. A row is a JSON array whose first item is an array that begins with the id. A row
 * can refer to the lists of its page.
 */
export interface RowFormat<Value> {
  encode(value: Value, lists: PageLists): string;
  /** @param generation of the row: no row with other contents has or had the same */
  decode(row: string, generation: number, lists: PageLists): Value;
  /** The record of the row in these bytes, for a short use, without decoding all of it. */
  view?(place: RowPlace): Value;
  /** The ids by which the record of the row in these bytes is indexed, without decoding it. */
  linked?(bytes: Buffer, start: number, end: number): readonly string[];
  /** The size of a record: 1 for an ordinary record. All have this size without the function. */
  weightOf?(value: Value): number;
  /** The maximum weight of retained values in each of the two generations, if not the default. */
  readonly retained?: number;
}

/** A row of a page. */
interface RowPlace {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  readonly generation: number;
  readonly lists: PageLists;
}

/** Rows that are separated by line feeds, which JSON never contains. */
export interface Page {
  readonly bytes: Buffer;
  /** The start of each row, followed by the end of the page plus one. */
  readonly starts: Uint32Array;
  /** The generation of the first row. */
  readonly generation: number;
  readonly lists: PageLists;
}

/** The maximum number of rows of a page, so that a reference identifies each row. */
const maxRowsOfPage = 8_192;
/** The characters before the id in a row: `[["`. */
export const idStart = 3;
export const idLength = 36;
/** The characters of an id that are hashed: the end of a UUIDv7 is random. */
const hashedLength = 8;
const lineFeed = 10;
export const quote = 34;
const backslash = 92;
/** The cost of finding or entering a row, in rule-cost units. */
const rowCost = 3 * entryCost;

/** Pages that are added one by one, before they become records. */
export class PackedPages {
  readonly pages: Page[] = [];
  size = 0;

  /**
   * Adds a page, as work that can be suspended between some rows.
   *
   * @param lists to which the rows refer
   * @throws if the page does not have this number of rows
   */
  *adding(bytes: Buffer, rows: number, lists = new PageLists()): Work<void> {
    if (rows > maxRowsOfPage) throw new RangeError(`${rows} rows are too many for a page`);
    if (rows === 0) return;
    const starts = new Uint32Array(rows + 1);
    let found = 0;
    for (let start = 0; start <= bytes.length; ) {
      if (found === rows) throw new Error(`a page has more than the ${rows} rows that were announced`);
      starts[found] = start;
      found += 1;
      const end = bytes.indexOf(lineFeed, start);
      start = (end < 0 ? bytes.length : end) + 1;
      if (found % recordsAtOnce === 0) yield recordsAtOnce * entryCost;
    }
    if (found !== rows) throw new Error(`a page has ${found} instead of ${rows} rows`);
    starts[rows] = bytes.length + 1;
    this.pages.push({ bytes, starts, generation: nextGenerations(rows), lists });
    this.size += rows;
  }

  /** Adds records, as work that can be suspended between some of them. */
  *encoding<Value>(values: readonly Value[], format: RowFormat<Value>): Work<void> {
    let rows: string[] = [];
    let lists = new PageLists();
    let characters = 0;
    let unpaid = 0;
    for (const [index, value] of values.entries()) {
      const row = format.encode(value, lists);
      rows.push(row);
      characters += row.length;
      unpaid += encodingCost(format, value, row);
      if (unpaid >= yieldAfter) {
        yield unpaid;
        unpaid = 0;
      }
      const isFull = rows.length === encodedAtOnce || characters > charactersAtOnce;
      if (!isFull && index < values.length - 1) continue;
      yield* this.adding(Buffer.from(rows.join("\n")), rows.length, lists);
      rows = [];
      lists = new PageLists();
      characters = 0;
    }
    yield unpaid;
  }
}

/** An immutable map of records by id. */
export class PackedRecords<Value> implements Records<Value> {
  readonly size: number;
  readonly #pages: readonly Page[];
  readonly #format: RowFormat<Value>;
  /**
   * A hash table of references to rows. A reference is the number of the page and of the row in it; 0 is a free slot.
   */
  readonly #slots: Uint32Array;
  readonly #recent: RecentValues<Value>;

  private constructor(pages: PackedPages, format: RowFormat<Value>, slots: Uint32Array, recent: RecentValues<Value>) {
    this.size = pages.size;
    this.#pages = pages.pages;
    this.#format = format;
    this.#slots = slots;
    this.#recent = recent;
  }

  /**
   * Indexes pages, as work that can be suspended between some rows.
   *
   * @param pages contain each id once, and must not change afterwards
   * @param recent values of records that were asked for before
   */
  static *indexing<Value>(
    pages: PackedPages,
    format: RowFormat<Value>,
    recent = new RecentValues<Value>(format.retained, format.weightOf?.bind(format)),
  ): Work<PackedRecords<Value>> {
    const slots = new Uint32Array(slotsFor(pages.size));
    const mask = slots.length - 1;
    let unpaid = 0;
    for (const [index, { bytes, starts }] of pages.pages.entries()) {
      for (let row = 0; row < starts.length - 1; row += 1) {
        const end = (starts[row] ?? 0) + idStart + idLength;
        let hash = hashStart;
        for (let at = end - hashedLength; at < end; at += 1) hash = hashedWith(hash, bytes[at] ?? 0);
        let slot = hash & mask;
        while (slots[slot] !== 0) slot = (slot + 1) & mask;
        slots[slot] = referenceTo(index, row);
        unpaid += 1;
        if (unpaid < recordsAtOnce) continue;
        yield unpaid * rowCost;
        unpaid = 0;
      }
    }
    return new PackedRecords(pages, format, slots, recent);
  }

  get retainsValues(): boolean {
    return this.size <= this.#recent.capacity;
  }

  /** The size of all rows. */
  get bytes(): number {
    return this.#pages.reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  /** The pages, which a snapshot stores. */
  get pages(): readonly Page[] {
    return this.#pages;
  }

  get(id: string): Value | undefined {
    const recent = this.#recent.get(id);
    if (recent !== undefined) return recent;
    const reference = this.#find(id);
    return reference === undefined ? undefined : this.#retain(id, reference);
  }

  *[Symbol.iterator](): Iterator<readonly [id: string, value: Value]> {
    for (const reference of this.references()) {
      const id = this.idAt(reference);
      yield [id, this.#recent.get(id) ?? (this.retainsValues ? this.#retain(id, reference) : this.#view(reference))];
    }
  }

  *ids(): IterableIterator<string> {
    for (const reference of this.references()) yield this.idAt(reference);
  }

  *links(): IterableIterator<readonly [id: string, linked: readonly string[]]> {
    for (const reference of this.references()) {
      const { bytes, start, end } = this.#locate(reference);
      const id = bytes.toString("latin1", start + idStart, start + idStart + idLength);
      yield [id, this.#format.linked?.(bytes, start, end) ?? []];
    }
  }

  /** References to all rows, in their order. */
  *references(): IterableIterator<number> {
    for (const [index, { starts }] of this.#pages.entries()) {
      for (let row = 0; row < starts.length - 1; row += 1) yield referenceTo(index, row);
    }
  }

  idAt(reference: number): string {
    const { bytes, start } = this.#locate(reference);
    return bytes.toString("latin1", start + idStart, start + idStart + idLength);
  }

  rowAt(reference: number): string {
    const { bytes, start, end } = this.#locate(reference);
    return bytes.toString("utf8", start, end);
  }

  /** The text that follows the id in a row. */
  textAt(reference: number): string {
    const { bytes, start } = this.#locate(reference);
    // The text follows `",` and its own quotation mark.
    const from = start + idStart + idLength + 3;
    let end = bytes.indexOf(quote, from);
    if (!bytes.subarray(from, end).includes(backslash)) return bytes.toString("utf8", from, end);
    while (isEscaped(bytes, end)) end = bytes.indexOf(quote, end + 1);
    return JSON.parse(bytes.toString("utf8", from - 1, end + 1)) as string; // by the format of rows
  }

  /** Rewrites the pages with changed records, and shares all others. */
  *changing(changes: ReadonlyMap<string, Value | undefined>): Work<PackedRecords<Value>> {
    const changedPages = new Set<number>();
    const added: Value[] = [];
    let unpaid = 0;
    for (const [id, value] of changes) {
      const reference = this.#find(id);
      if (reference !== undefined) changedPages.add(pageOf(reference));
      else if (value !== undefined) added.push(value);
      unpaid += 1;
      if (unpaid < recordsAtOnce) continue;
      yield unpaid * rowCost;
      unpaid = 0;
    }
    const pages = new PackedPages();
    for (const [index, page] of this.#pages.entries()) {
      if (changedPages.has(index)) yield* this.#rewriting(index, changes, pages);
      else {
        pages.pages.push(page);
        pages.size += page.starts.length - 1;
      }
    }
    yield* pages.encoding(added, this.#format);
    return yield* PackedRecords.indexing(pages, this.#format, yield* this.#recent.changing(changes));
  }

  *#rewriting(index: number, changes: ReadonlyMap<string, Value | undefined>, pages: PackedPages): Work<void> {
    const page = this.#pages[index];
    if (page === undefined) return;
    const rows: string[] = [];
    const writesAll = page.lists.isWasteful;
    const lists = new PageLists(writesAll ? undefined : page.lists);
    let unpaid = lists.size * entryCost;
    for (let row = 0; row < page.starts.length - 1; row += 1) {
      const reference = referenceTo(index, row);
      const id = this.idAt(reference);
      const isChanged = changes.has(id);
      const value = isChanged ? changes.get(id) : writesAll ? this.#view(reference) : undefined;
      if (isChanged && value === undefined) continue;
      const text = value === undefined ? this.rowAt(reference) : this.#format.encode(value, lists);
      rows.push(text);
      unpaid += value === undefined ? encodedCost : encodingCost(this.#format, value, text);
      if (unpaid < yieldAfter) continue;
      yield unpaid;
      unpaid = 0;
    }
    yield unpaid + page.bytes.length * copyCost * copiesOfPage;
    yield* pages.adding(Buffer.from(rows.join("\n")), rows.length, lists);
  }

  #retain(id: string, reference: number): Value {
    const { generation, lists } = this.#locate(reference);
    const value = this.#format.decode(this.rowAt(reference), generation, lists);
    this.#recent.set(id, value);
    return value;
  }

  #view(reference: number): Value {
    const place = this.#locate(reference);
    return this.#format.view?.(place) ?? this.#format.decode(this.rowAt(reference), place.generation, place.lists);
  }

  #find(id: string): number | undefined {
    if (id.length !== idLength) return undefined;
    let hash = hashStart;
    for (let at = idLength - hashedLength; at < idLength; at += 1) hash = hashedWith(hash, id.charCodeAt(at));
    const mask = this.#slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const reference = this.#slots[slot];
      if (reference === undefined || reference === 0) return undefined;
      if (this.idAt(reference) === id) return reference;
    }
  }

  #locate(reference: number): RowPlace {
    const page = this.#pages[pageOf(reference)];
    if (page === undefined) throw new RangeError(`No page contains row ${reference}.`);
    const row = (reference - 1) % maxRowsOfPage;
    // The line feed between two rows belongs to neither.
    const { bytes, starts, generation, lists } = page;
    return { bytes, start: starts[row] ?? 0, end: (starts[row + 1] ?? 1) - 1, generation: generation + row, lists };
  }
}

function encodingCost<Value>(format: RowFormat<Value>, value: Value, row: string): number {
  const weight = format.weightOf?.(value) ?? 1;
  return encodedCost + (weight - 1) * weightCost + row.length * copyCost;
}

/** Whether an odd number of backslashes precedes a quotation mark. */
function isEscaped(bytes: Buffer, at: number): boolean {
  let first = at;
  while (bytes[first - 1] === backslash) first -= 1;
  return (at - first) % 2 === 1;
}

/** The cost of converting a record to a row, or of copying a row. */
const encodedCost = 4 * entryCost;
/** The cost of finding the lists of a record, for each unit of weight beyond the first. */
const weightCost = 500;
const encodedAtOnce = 1_000;
/** The characters after which the next row begins a new page. */
const charactersAtOnce = 1_048_576;
/** The cost of copying a byte of a page, relative to copying a character of a text. */
const copiesOfPage = 0.02;

function referenceTo(page: number, row: number): number {
  return page * maxRowsOfPage + row + 1;
}

function pageOf(reference: number): number {
  return Math.floor((reference - 1) / maxRowsOfPage);
}

/** A power of two, so that at least half of the slots are free. */
export function slotsFor(size: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(8, size * 2)));
}

/** FNV-1a. Ids are random, and tenants cannot choose them. */
const hashStart = 0x811c9dc5;
function hashedWith(hash: number, value: number): number {
  return Math.imul(hash ^ value, 0x01000193);
}
