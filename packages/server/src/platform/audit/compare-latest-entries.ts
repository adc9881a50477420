/** Compares records with the state in which their latest entries left them. */
import { isDeepStrictEqual } from "node:util";
import type { TenantTx } from "../tenancy/tenant-tx.ts";
import { latestEntries } from "./latest-entries.queries.ts";
import { readStub } from "./record.queries.ts";

/** A record as its entries show it. */
export interface AuditedRecord {
  readonly id: string;
  readonly createdAt: string;
}

export interface ComparedRecords {
  /** The target type of the entries. */
  readonly type: string;
  /** The records in messages. */
  readonly noun: string;
  /** Fields that change without an entry. */
  readonly observed: readonly string[];
  /** Reads a page of the records after an id. */
  readonly list: (tx: TenantTx, afterId: string, limit: number) => Promise<readonly AuditedRecord[]>;
}

const pageSize = 500;
const nilUuid = "00000000-0000-0000-0000-000000000000";

/** @returns the differences, as sentences */
export async function compareLatestEntries(
  tx: TenantTx,
  { type, noun, observed, list }: ComparedRecords,
): Promise<readonly string[]> {
  const audited = new Map((await latestEntries(tx, type)).map(({ id, after }) => [id, after]));
  // Retention may have pruned the entries of records that are older than this time.
  const prunedThrough = (await readStub(tx))?.createdAt;
  const found: string[] = [];
  const compare = (record: AuditedRecord) => {
    const known = audited.get(record.id);
    audited.delete(record.id);
    if (known === undefined) {
      if (prunedThrough !== undefined && record.createdAt <= prunedThrough) return;
      found.push(`The ${noun} ${record.id} exists, and no entry created it.`);
    } else if (known === null) {
      found.push(`The ${noun} ${record.id} exists, and its latest entry deleted it.`);
    } else if (!isDeepStrictEqual(settingsOf(record, observed), settingsOf(known, observed))) {
      found.push(`The ${noun} ${record.id} is not as its latest entry left it.`);
    }
  };
  let after = nilUuid;
  for (;;) {
    const page = await list(tx, after, pageSize);
    page.forEach(compare);
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) break;
    after = last.id;
  }
  for (const [id, known] of audited) {
    if (known !== null) found.push(`The ${noun} ${id} is gone, and no entry deleted it.`);
  }
  return found;
}

/** The fields of a record as JSON has them, without the observed ones. */
function settingsOf(record: object, observed: readonly string[]): unknown {
  const settings = Object.entries(record).filter(([name]) => !observed.includes(name));
  return JSON.parse(JSON.stringify(Object.fromEntries(settings)));
}
