/**
 * Reads a tenant's record as lines, in bounded memory: entries, each batch followed by its seal and its checkpoints.
 */
import type { Event } from "@gatehouse/contract/records/event";
import type { Filter } from "../list-query.ts";
import type { TenantTx } from "../tenancy/tenant-tx.ts";
import { lastPositionOf } from "./chain.ts";
import { noEnd, readCheckpoints, readEntries, readSeals } from "./record.queries.ts";
import type { RecordLine } from "./record-lines.ts";
import type { ChainPosition, Signed } from "./signatures.ts";

/** Entries per query. Each may contain a record of up to a mebibyte twice. */
const rowsAtOnce = 100;
const sealsAtOnce = 200;

/** Runs queries inside the tenant, either each call in its own transaction or all calls in one. */
export type TenantReader = <T>(work: (tx: TenantTx) => Promise<T>) => Promise<T>;

export interface RecordRange {
  /** The place after which to start. */
  readonly after: Pick<ChainPosition, "position" | "generation">;
  /** The last generation to read; undefined for all. */
  readonly throughGeneration?: number | undefined;
  /** Entries that do not match are omitted. Their seals are included. */
  readonly filters: readonly Filter[];
  /**
   * Whether all queries see one snapshot. Only then can entries before or after all seals be distinguished from new
   * entries.
   */
  readonly oneSnapshot: boolean;
}

/** Lower than any position, including those of rows that were inserted by hand. */
const beforeAll = Number.MIN_SAFE_INTEGER;

export async function* readRecord(read: TenantReader, range: RecordRange): AsyncGenerator<RecordLine> {
  const { after, throughGeneration = noEnd, filters, oneSnapshot } = range;
  let { generation, position: checkpointed } = after;
  const entries = new Rows<Event>(
    oneSnapshot ? beforeAll : after.position,
    ({ position }) => position,
    (from, through) => read((tx) => readEntries(tx, filters, from, through, rowsAtOnce)),
  );
  const checkpoints = new Rows<Signed>(
    after.position,
    ({ position }) => position,
    (from, through) => read((tx) => readCheckpoints(tx, from, through, rowsAtOnce)),
  );
  for (;;) {
    const seals = await read((tx) => readSeals(tx, generation, throughGeneration, sealsAtOnce));
    const last = seals.at(-1);
    if (last === undefined) break;
    const through = Math.max(...seals.map(lastPositionOf));
    entries.extend(through);
    checkpoints.extend(through);
    for (const seal of seals) {
      const sealedThrough = lastPositionOf(seal);
      for await (const event of entries.through(sealedThrough)) yield { type: "event", event };
      yield { type: "seal", ...seal };
      for await (const checkpoint of checkpoints.through(sealedThrough)) yield { type: "checkpoint", ...checkpoint };
    }
    generation = last.generation;
    checkpointed = Math.max(checkpointed, through);
  }
  if (throughGeneration !== noEnd) return;
  if (oneSnapshot) {
    entries.extend(noEnd);
    for await (const event of entries.through(noEnd)) yield { type: "event", event };
  }
  // Must be read before the check for newer seals, so that checkpoints signed meanwhile are not reported as lost.
  const strays = await read((tx) => readCheckpoints(tx, checkpointed, noEnd, sealsAtOnce));
  if (strays.length === 0) return;
  const newer = await read((tx) => readSeals(tx, generation, noEnd, 1));
  if (newer.length > 0) yield* readRecord(read, { ...range, after: { generation, position: checkpointed } });
  else for (const checkpoint of strays) yield { type: "checkpoint", ...checkpoint };
}

/** Rows in the order of their positions, read page by page and returned up to a position. */
class Rows<T> {
  readonly #readPage: (after: number, through: number) => Promise<readonly T[]>;
  readonly #positionOf: (row: T) => number;
  /** Everything up to this position was read. */
  #after: number;
  #end: number;
  #page: readonly T[] = [];
  #next = 0;

  constructor(
    after: number,
    positionOf: (row: T) => number,
    readPage: (after: number, through: number) => Promise<readonly T[]>,
  ) {
    this.#after = after;
    this.#end = after;
    this.#positionOf = positionOf;
    this.#readPage = readPage;
  }

  /** Allows reading rows up to this position. All of them must exist already. */
  extend(end: number): void {
    this.#end = Math.max(this.#end, end);
  }

  async *through(position: number): AsyncGenerator<T> {
    for (;;) {
      const row = this.#page[this.#next];
      if (row === undefined) {
        if (this.#after >= this.#end) return;
        this.#page = await this.#readPage(this.#after, this.#end);
        this.#next = 0;
        const last = this.#page.at(-1);
        this.#after = last === undefined || this.#page.length < rowsAtOnce ? this.#end : this.#positionOf(last);
      } else {
        if (this.#positionOf(row) > position) return;
        this.#next += 1;
        yield row;
      }
    }
  }
}
