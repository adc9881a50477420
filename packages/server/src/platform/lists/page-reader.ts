/**
 * Pages of lists, joined from cached records in a cached order. Everything is checked against the tenant's state, read
 * for the request, like cached answers (docs/decisions/0100). What is not cached is read from the database.
 */
import { setImmediate as turn } from "node:timers/promises";
import type { Database } from "../db/database.ts";
import { type ListSource, pageOfItems } from "../db/list-statement.ts";
import type { Filter, ListQuery } from "../list-query.ts";
import { PreparedAnswer } from "../prepared-answer.ts";
import { readTenantState, type TenantState } from "../tenancy/generation.queries.ts";
import type { GenerationReader } from "../tenancy/generation-reader.ts";
import type { TenantTx } from "../tenancy/tenant-tx.ts";
import { readListOrder } from "./list-order.queries.ts";
import { type AskedPage, ListOrderCache, type OrderThresholds } from "./list-order-cache.ts";
import { bytesOfId, RecordCache } from "./record-cache.ts";
import {
  piecesOf,
  type RecordPieces,
  RecordSerializer,
  type SerializedRecord,
  type SharePart,
} from "./serialized-record.ts";

interface ListRow {
  readonly id: string;
  readonly version: number;
}

/** A list whose pages are joined from cached records. */
export interface CachedList<Row extends ListRow> {
  readonly source: ListSource;
  /** The field by whose parts the list is searched. Its column has a key, and only commands change it. */
  readonly searched: string;
  /** Distinguishes callers who see different records. */
  readonly view: string;
  /** Reads a page. All fields by which the list is sorted and filtered change by commands only. */
  readonly list: (tx: TenantTx, query: ListQuery) => Promise<{ readonly rows: readonly Row[]; readonly total: number }>;
  /** Reads records in any order. Some may not exist. */
  readonly read: (tx: TenantTx, ids: readonly string[]) => Promise<readonly Row[]>;
  /** Returns the record. Everything that depends on the time, or changes without a command, must be in shared parts. */
  readonly present: (row: Row, share: SharePart) => unknown;
}

/** A page or a record, with the state of the tenant that it shows. */
interface ReadAnswer {
  readonly state: TenantState | undefined;
  readonly answer: PreparedAnswer;
  /** Whether it was joined from cached records. */
  readonly isJoined: boolean;
}

/** Records that are read together. */
interface RecordBatch {
  readonly ids: Set<string>;
  readonly read: Promise<{
    readonly state: TenantState | undefined;
    readonly records: ReadonlyMap<string, SerializedRecord>;
  }>;
}

/** The most records of one batch. More would wait for each other instead of using several connections. */
const maxBatch = 32;

/** The part of the capacity for orders. The rest is for records. */
const partForOrders = 0.25;

export class PageReader {
  readonly #database: Database;
  readonly #generations: GenerationReader;
  readonly #orders: ListOrderCache;
  readonly #records: RecordCache;
  /** Batches that have not begun yet, by table. */
  readonly #unsent = new Map<string, RecordBatch>();
  /** The number of pages that were joined in a cached order. */
  #pagesJoined = 0;

  /** @param capacity the most memory of everything that is cached, in bytes */
  constructor(database: Database, generations: GenerationReader, capacity: number, thresholds?: OrderThresholds) {
    this.#database = database;
    this.#generations = generations;
    this.#orders = new ListOrderCache(capacity * partForOrders, thresholds);
    this.#records = new RecordCache(capacity * (1 - partForOrders));
  }

  get state(): { readonly joined: number; readonly orders: number; readonly records: number; readonly bytes: number } {
    const [orders, records] = [this.#orders.state, this.#records.state];
    return { joined: this.#pagesJoined, ...orders, ...records, bytes: orders.bytes + records.bytes };
  }

  /** Waits until every order that is being read is available. */
  settled(): Promise<void> {
    return this.#orders.settled();
  }

  /** Clears the caches after generations may have restarted, when a database was restored from a backup. */
  clear(): void {
    this.#orders.clear();
    this.#records.clear();
  }

  /** @throws AppError database_unavailable, invalid_parameter */
  async page<Row extends ListRow>(tenantId: string, list: CachedList<Row>, query: ListQuery): Promise<ReadAnswer> {
    const asked = askedPage(tenantId, list, query);
    if (asked !== undefined && this.#orders.mayHave(asked.page)) {
      const state = await this.#generations.state(tenantId);
      const found = state === undefined ? undefined : this.#orders.page(asked.page, state);
      if (state !== undefined && found !== undefined) {
        const answer = await this.#joined(tenantId, list, query, state, found.ids, found.total);
        if (answer !== undefined) {
          this.#pagesJoined += 1;
          return { state, answer, isJoined: true };
        }
      }
    }
    return this.#read(tenantId, list, query, asked);
  }

  /**
   * Reads one record. Requests in the same turn of the event loop share the statements that read a page.
   *
   * @returns undefined if no such record exists
   * @throws AppError database_unavailable
   */
  async record<Row extends ListRow>(
    tenantId: string,
    list: CachedList<Row>,
    id: string,
  ): Promise<ReadAnswer | undefined> {
    const table = tableName(tenantId, list);
    if (this.#records.mayHave(table, id)) {
      const state = await this.#generations.state(tenantId);
      const [found] = state === undefined ? [] : this.#records.find(table, state, bytesOfId(id));
      if (found !== undefined) {
        return { state, answer: PreparedAnswer.joined(found.pieces, found.version), isJoined: true };
      }
    }
    let batch = this.#unsent.get(table);
    if (batch === undefined || batch.ids.size >= maxBatch) {
      batch = this.#begin(tenantId, list, table);
      this.#unsent.set(table, batch);
    }
    batch.ids.add(id);
    const { state, records } = await batch.read;
    const record = records.get(id);
    if (record === undefined) return undefined;
    const { pieces, version } = piecesOf(record);
    return { state, answer: PreparedAnswer.joined(pieces, version), isJoined: true };
  }

  #begin<Row extends ListRow>(tenantId: string, list: CachedList<Row>, table: string): RecordBatch {
    const ids = new Set<string>();
    const read = turn().then(async () => {
      if (this.#unsent.get(table)?.ids === ids) this.#unsent.delete(table);
      const { state, records } = await this.#readRecords(tenantId, list, [...ids]);
      return { state, records: new Map(records.map((record) => [record.id, record])) };
    });
    return { ids, read };
  }

  /** Reads records and caches them. */
  async #readRecords<Row extends ListRow>(
    tenantId: string,
    list: CachedList<Row>,
    ids: readonly string[],
  ): Promise<{ readonly state: TenantState | undefined; readonly records: readonly SerializedRecord[] }> {
    const { epoch } = this.#records;
    const { state, rows } = await this.#database.snapshot({ kind: "tenant", tenantId }, async (transaction) => {
      const tx: TenantTx = { tenantId, query: transaction.query };
      const [state, rows] = await Promise.all([readTenantState(tx), list.read(tx, ids)]);
      return { state, rows };
    });
    const records = serialized(list, rows);
    if (state !== undefined) this.#records.add(tableName(tenantId, list), state, epoch, records);
    return { state, records };
  }

  /** Returns undefined if the tenant changes while records are read. */
  async #joined<Row extends ListRow>(
    tenantId: string,
    list: CachedList<Row>,
    query: ListQuery,
    state: TenantState,
    ids: Buffer,
    total: number,
  ): Promise<PreparedAnswer | undefined> {
    const table = tableName(tenantId, list);
    const found = this.#records.find(table, state, ids);
    const missing = found.flatMap((pieces, index) => (pieces === undefined ? [textOfId(ids, index * 16)] : []));
    if (missing.length === 0) return join(query, found as RecordPieces[], total); // every id was found
    // Their buffers can be used for other records while the missing ones are read.
    const held = found.map((record) => record && { ...record, pieces: record.pieces.map(copied) });
    const { state: read, records } = await this.#readRecords(tenantId, list, missing);
    if (read?.generation !== state.generation || read.observations !== state.observations) return undefined;
    const byId = new Map(records.map((record) => [record.id, record]));
    const all: RecordPieces[] = [];
    for (const [index, known] of held.entries()) {
      const record = known === undefined ? byId.get(textOfId(ids, index * 16)) : undefined;
      if (known !== undefined) all.push(known);
      else if (record !== undefined) all.push(piecesOf(record));
      else return undefined;
    }
    return join(query, all, total);
  }

  async #read<Row extends ListRow>(
    tenantId: string,
    list: CachedList<Row>,
    query: ListQuery,
    asked: Asked | undefined,
  ): Promise<ReadAnswer> {
    const { epoch } = this.#records;
    const { state, rows, total } = await this.#database.snapshot({ kind: "tenant", tenantId }, async (transaction) => {
      const tx: TenantTx = { tenantId, query: transaction.query };
      const [state, page] = await Promise.all([readTenantState(tx), list.list(tx, query)]);
      return { state, ...page };
    });
    const records = serialized(list, rows);
    if (state !== undefined) {
      this.#records.add(tableName(tenantId, list), state, epoch, records);
      if (asked !== undefined) this.#orders.missed(asked.page, state, total, this.#reader(tenantId, list, asked));
    }
    return { state, answer: join(query, records.map(piecesOf), total), isJoined: false };
  }

  #reader<Row extends ListRow>(tenantId: string, { source, searched }: CachedList<Row>, asked: Asked) {
    const column = asked.page.search === undefined ? undefined : source.columns[searched];
    return (most: number) => readListOrder(this.#database, tenantId, source, asked.order, column, most, turn);
  }
}

interface Asked {
  readonly page: AskedPage;
  readonly order: Pick<ListQuery, "sort" | "filters">;
}

/** Returns undefined if no order answers the query. */
function askedPage<Row extends ListRow>(
  tenantId: string,
  { source, searched }: CachedList<Row>,
  { after, offset, limit, sort, filters }: ListQuery,
): Asked | undefined {
  // A page after a record is found by an index.
  if (after !== undefined) return undefined;
  const searches = filters.filter(({ field, operator }) => field === searched && operator === "ilike");
  const [first] = searches;
  const search = first === undefined ? undefined : searchedPart(first);
  if (searches.length > 1 || (first !== undefined && search === undefined)) return undefined;
  const order = { sort, filters: filters.filter((filter) => filter !== first) };
  const name = `${tenantId} ${source.table} ${JSON.stringify([order.sort, order.filters])}`;
  if (name.length > maxNameLength) return undefined;
  return { page: { name, offset, limit, search }, order };
}

/** Longer orders are read for each page. */
const maxNameLength = 1_000;

/**
 * The text between the `%` of a pattern, in lower case. Undefined for other patterns, and for letters that JavaScript
 * and PostgreSQL may convert differently.
 */
function searchedPart({ values: [pattern = ""] }: Filter): string | undefined {
  // Neither `%` nor the separator of names.
  return /^%([\x20-\x24\x26-\x7e]+)%$/.exec(pattern)?.[1]?.toLowerCase();
}

function tableName<Row extends ListRow>(tenantId: string, { source, view }: CachedList<Row>): string {
  return `${tenantId} ${source.table} ${view}`;
}

function serialized<Row extends ListRow>({ present }: CachedList<Row>, rows: readonly Row[]): SerializedRecord[] {
  const serializer = new RecordSerializer();
  return rows.map((row) => serializer.serialize(row, (share) => present(row, share)));
}

const comma = Buffer.from(",");
const head = Buffer.from('{"data":[');

/**
 * @param records the pieces of each record. A page after a record has one more than the limit if another page follows
 */
function join(query: ListQuery, records: readonly RecordPieces[], total: number): PreparedAnswer {
  const { data, ...rest } = pageOfItems(query, records, total);
  const pieces: (Buffer | PreparedAnswer)[] = [head];
  for (const [index, record] of data.entries()) {
    if (index > 0) pieces.push(comma);
    pieces.push(...record.pieces);
  }
  pieces.push(Buffer.from(`],${JSON.stringify(rest).slice(1)}`));
  return PreparedAnswer.joined(pieces);
}

function copied(piece: Buffer | PreparedAnswer): Buffer | PreparedAnswer {
  return Buffer.isBuffer(piece) ? Buffer.from(piece) : piece;
}

/** The UUID of 16 bytes. */
function textOfId(ids: Buffer, at: number): string {
  const text = ids.toString("hex", at, at + 16);
  return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join("-");
}
