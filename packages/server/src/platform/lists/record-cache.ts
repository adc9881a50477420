/**
 * Records of lists as JSON, so that pages are joined instead of assembled again. A record is used only while its tenant
 * has the generation at which it was read. The bytes of all records are in a few buffers outside of V8's heap.
 */
import type { PreparedAnswer } from "../prepared-answer.ts";
import type { TenantState } from "../tenancy/generation.queries.ts";
import type { RecordPieces, SerializedRecord, SharedPart } from "./serialized-record.ts";

/** The records of one list of a tenant, as callers with some permissions see them, at one generation. */
interface Table {
  /** Distinguishes the records of this table in the buffers. Never used again. */
  readonly number: number;
  readonly generation: number;
  readonly parts: KnownPart[];
  readonly places: Map<string, number>;
  bytes: number;
}

interface KnownPart {
  part: SharedPart;
  observations: number;
}

/** The bytes of one buffer. Larger records are not cached. */
const chunkBytes = 262_144;
/** Bytes of a record before its parts and its JSON: table, id, version, length, number of parts. */
const headBytes = 4 + 16 + 4 + 4 + 4;
const idAt = 4;
const versionAt = 20;
const lengthAt = 24;
const partsAt = 28;
/** The place of a part and its index in the table. */
const partBytes = 8;
/** The most tables. */
const maxTables = 1_000;
/** The part of the capacity that the shared parts of all tables can use. */
const largestShare = 1 / 16;
/** The memory of an entry of a map and of its key, in bytes. */
const entryBytes = 40;

export class RecordCache {
  readonly #maxChunks: number;
  readonly #maxSharedBytes: number;
  readonly #chunks: Buffer[] = [];
  /** The hashes of the records of each chunk. */
  readonly #hashes: number[][] = [];
  /** The position of a record in the chunks, by the hash of its table and id. */
  readonly #positions = new Map<number, number>();
  /** Ordered by last use, the least recent first. */
  readonly #tables = new Map<string, Table>();
  #writing = -1;
  #at = chunkBytes;
  #tableNumber = 0;
  #sharedBytes = 0;
  /** Raised by `clear`. */
  #epoch = 0;

  /** @param capacity the most memory of all records, in bytes */
  constructor(capacity: number) {
    this.#maxSharedBytes = capacity * largestShare;
    this.#maxChunks = Math.floor((capacity - this.#maxSharedBytes) / (chunkBytes * (1 + entryBytes / 400)));
  }

  /** Changes when everything was removed. Records that were read before must not be added afterwards. */
  get epoch(): number {
    return this.#epoch;
  }

  get state(): { readonly records: number; readonly bytes: number } {
    const bytes = this.#chunks.length * chunkBytes + this.#positions.size * entryBytes + this.#sharedBytes;
    return { records: this.#positions.size, bytes };
  }

  /**
   * Collects the pieces of records.
   *
   * @param name identifies the tenant, the list and what the caller sees
   * @param ids the ids of the records, 16 bytes each
   * @returns for each id its pieces, or undefined if the record is not cached. The pieces are overwritten by later
   *   records, so they must be used at once.
   */
  find(name: string, state: TenantState, ids: Buffer): (RecordPieces | undefined)[] {
    const found: (RecordPieces | undefined)[] = [];
    const table = this.#tables.get(name);
    const isUsable = table !== undefined && table.generation === state.generation;
    if (isUsable) {
      this.#tables.delete(name);
      this.#tables.set(name, table);
    }
    for (let at = 0; at < ids.length; at += 16) {
      found.push(isUsable ? this.#record(table, state, ids, at) : undefined);
    }
    return found;
  }

  /** Whether `find` can have the record at the tenant's state. */
  mayHave(name: string, id: string): boolean {
    const table = this.#tables.get(name);
    return table !== undefined && this.#positions.has(hashOf(table.number, bytesOfId(id), 0));
  }

  /**
   * Adds records that were read in one snapshot.
   *
   * @param state the tenant's state in the snapshot
   * @param epoch the epoch before the snapshot began
   */
  add(name: string, state: TenantState, epoch: number, records: readonly SerializedRecord[]): void {
    if (epoch !== this.#epoch || this.#maxChunks < 1) return;
    let table = this.#tables.get(name);
    if (table !== undefined && table.generation > state.generation) return;
    if (table === undefined || table.generation < state.generation) {
      this.#forget(name);
      this.#tableNumber += 1;
      table = { number: this.#tableNumber, generation: state.generation, parts: [], places: new Map(), bytes: 0 };
      this.#tables.set(name, table);
      if (this.#tables.size > maxTables) this.#forgetOldest();
    }
    for (const record of records) this.#addRecord(table, state, record);
    while (this.#sharedBytes > this.#maxSharedBytes) this.#forgetOldest();
  }

  /** Removes everything after generations may have restarted, when a database was restored from a backup. */
  clear(): void {
    this.#tables.clear();
    this.#positions.clear();
    this.#chunks.length = 0;
    this.#hashes.length = 0;
    this.#writing = -1;
    this.#at = chunkBytes;
    this.#sharedBytes = 0;
    this.#epoch += 1;
  }

  #forgetOldest(): void {
    for (const oldest of this.#tables.keys()) {
      this.#forget(oldest);
      return;
    }
  }

  /** The records of a forgotten table stay in the buffers until others take their place. */
  #forget(name: string): void {
    const table = this.#tables.get(name);
    if (table === undefined) return;
    this.#sharedBytes -= table.bytes;
    this.#tables.delete(name);
  }

  #record(table: Table, state: TenantState, ids: Buffer, at: number): RecordPieces | undefined {
    const position = this.#positions.get(hashOf(table.number, ids, at));
    if (position === undefined) return undefined;
    const chunk = this.#chunks[Math.floor(position / chunkBytes)];
    const start = position % chunkBytes;
    if (chunk === undefined || chunk.readUInt32LE(start) !== table.number) return undefined;
    // Two records can have the same hash.
    if (chunk.compare(ids, at, at + 16, start + idAt, start + idAt + 16) !== 0) return undefined;
    const length = chunk.readUInt32LE(start + lengthAt);
    const parts = chunk.readUInt32LE(start + partsAt);
    const json = start + headBytes + parts * partBytes;
    const pieces: (Buffer | PreparedAnswer)[] = [];
    let from = 0;
    for (let number = 0; number < parts; number += 1) {
      const place = start + headBytes + number * partBytes;
      const until = chunk.readUInt32LE(place);
      const known = table.parts[chunk.readUInt32LE(place + 4)];
      if (known === undefined || (known.part.isObserved && known.observations !== state.observations)) return undefined;
      if (until > from) pieces.push(chunk.subarray(json + from, json + until));
      pieces.push(known.part.json);
      from = until;
    }
    if (from < length) pieces.push(chunk.subarray(json + from, json + length));
    return { version: chunk.readUInt32LE(start + versionAt), pieces };
  }

  #addRecord(table: Table, state: TenantState, { id, version, bytes, parts }: SerializedRecord): void {
    const size = headBytes + parts.length * partBytes + bytes.length;
    if (size > chunkBytes) return;
    const key = bytesOfId(id);
    const hash = hashOf(table.number, key, 0);
    // The part of a known record can be out of date, but its place stays the same.
    for (const { part } of parts) this.#addPart(table, state, part);
    const known = this.#positions.get(hash);
    if (known !== undefined && this.#isAt(known, table, key)) return;
    const [chunk, start] = this.#reserve(size);
    chunk.writeUInt32LE(table.number, start);
    key.copy(chunk, start + idAt);
    chunk.writeUInt32LE(version, start + versionAt);
    chunk.writeUInt32LE(bytes.length, start + lengthAt);
    chunk.writeUInt32LE(parts.length, start + partsAt);
    let place = start + headBytes;
    for (const { at, part } of parts) {
      chunk.writeUInt32LE(at, place);
      chunk.writeUInt32LE(table.places.get(part.key) ?? 0, place + 4);
      place += partBytes;
    }
    bytes.copy(chunk, place);
    this.#positions.set(hash, this.#writing * chunkBytes + start);
    this.#hashes[this.#writing]?.push(hash);
  }

  #isAt(position: number, table: Table, key: Buffer): boolean {
    const chunk = this.#chunks[Math.floor(position / chunkBytes)];
    const start = position % chunkBytes;
    if (chunk === undefined || chunk.readUInt32LE(start) !== table.number) return false;
    return chunk.compare(key, 0, 16, start + idAt, start + idAt + 16) === 0;
  }

  #addPart(table: Table, { observations }: TenantState, part: SharedPart): void {
    const index = table.places.get(part.key);
    const known = index === undefined ? undefined : table.parts[index];
    if (known === undefined) {
      table.places.set(part.key, table.parts.push({ part, observations }) - 1);
      this.#account(table, part.json.size + part.key.length + entryBytes);
    } else if (part.isObserved && known.observations < observations) {
      this.#account(table, part.json.size - known.part.json.size);
      known.part = part;
      known.observations = observations;
    }
  }

  #account(table: Table, bytes: number): void {
    table.bytes += bytes;
    this.#sharedBytes += bytes;
  }

  /** Returns a free place, after removing the records of a random buffer if there is none. */
  #reserve(size: number): [Buffer, number] {
    if (this.#at + size > chunkBytes) {
      if (this.#chunks.length < this.#maxChunks) {
        this.#hashes.push([]);
        this.#writing = this.#chunks.push(Buffer.allocUnsafeSlow(chunkBytes)) - 1;
      } else {
        // Reading a whole list in turn would always remove the oldest buffer just before it is needed again.
        this.#writing = Math.floor(Math.random() * this.#chunks.length);
        for (const hash of this.#hashes[this.#writing] ?? []) {
          const position = this.#positions.get(hash);
          // The position can be that of another record with the same hash.
          if (position !== undefined && Math.floor(position / chunkBytes) === this.#writing) {
            this.#positions.delete(hash);
          }
        }
        this.#hashes[this.#writing] = [];
      }
      this.#at = 0;
    }
    const start = this.#at;
    this.#at += size;
    return [this.#chunks[this.#writing] as Buffer, start]; // the index of a chunk
  }
}

/** The 16 bytes of a UUID. */
export function bytesOfId(id: string): Buffer {
  return Buffer.from(id.replaceAll("-", ""), "hex");
}

/** A small integer, because V8 stores larger numbers as objects. */
function hashOf(table: number, ids: Buffer, at: number): number {
  const id = ids.readUInt32LE(at + 12) ^ Math.imul(ids.readUInt32LE(at + 8), 0x9e3779b1);
  return (id ^ Math.imul(table, 0x85ebca6b)) & 0x7fffffff;
}
