/** Compares records with the state in which their latest entries left them. */
import { isDeepStrictEqual } from "node:util";
import { nilId } from "../ids.ts";
import type { TenantTx } from "../tenancy/tenant-tx.ts";
import { entriesOfType, type LatestEntryRow, latestEntries } from "./latest-entries.queries.ts";
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
  /** Fields that older entries lack. */
  readonly added?: readonly string[];
  /**
   * Present if entries can contain only some of the fields. Fields that no entry contains are then not compared.
   * Returns whether an entry contains fields of the record at all.
   */
  readonly partial?: (after: Readonly<Record<string, unknown>>) => boolean;
  /** Present if the deletion of a user may have deleted a record without an entry. */
  readonly ofUsers?: {
    /** The user of a record; undefined if it has none. */
    readonly userOf: (known: Readonly<Record<string, unknown>>) => string | undefined;
    /** Returns those ids whose users exist. */
    readonly existing: (tx: TenantTx, ids: readonly string[]) => Promise<ReadonlySet<string>>;
  };
  /** Reads a page of the records after an id. */
  readonly list: (tx: TenantTx, afterId: string, limit: number) => Promise<readonly AuditedRecord[]>;
}

const pageSize = 500;

/** @returns the differences, as sentences */
export async function compareLatestEntries(
  tx: TenantTx,
  { type, noun, observed, added = [], partial, list, ofUsers }: ComparedRecords,
): Promise<readonly string[]> {
  const audited = await auditedRecords(tx, type, partial);
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
    } else {
      const unknown = (partial === undefined ? added : Object.keys(record)).filter((name) => !(name in known));
      const ignored = [...observed, ...unknown];
      const shown = partial === undefined ? known : only(known, record);
      if (isDeepStrictEqual(settingsOf(record, ignored), settingsOf(shown, ignored))) return;
      found.push(`The ${noun} ${record.id} is not as its latest entry left it.`);
    }
  };
  let afterId = nilId;
  for (;;) {
    const page = await list(tx, afterId, pageSize);
    page.forEach(compare);
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) break;
    afterId = last.id;
  }
  const gone = [...audited].flatMap(([id, known]) => (known === null ? [] : { id, userId: ofUsers?.userOf(known) }));
  const users = await ofUsers?.existing(
    tx,
    gone.flatMap(({ userId }) => userId ?? []),
  );
  for (const { id, userId } of gone) {
    if (userId !== undefined && users?.has(userId) !== true) continue;
    found.push(`The ${noun} ${id} is gone, but no entry records its deletion.`);
  }
  return found;
}

/** The latest state of each record according to its entries; null for deleted records. */
async function auditedRecords(
  tx: TenantTx,
  type: string,
  partial: ComparedRecords["partial"],
): Promise<Map<string, LatestEntryRow["after"]>> {
  if (partial === undefined) return new Map((await latestEntries(tx, type)).map(({ id, after }) => [id, after]));
  const audited = new Map<string, LatestEntryRow["after"]>();
  for (const { id, after } of await entriesOfType(tx, type)) {
    if (after === null) audited.set(id, null);
    else if (partial(after)) audited.set(id, { ...audited.get(id), ...after });
  }
  return audited;
}

/** The fields of a record as JSON has them, without the observed ones. */
function settingsOf(record: object, observed: readonly string[]): unknown {
  const settings = Object.entries(record).filter(([name]) => !observed.includes(name));
  return JSON.parse(JSON.stringify(Object.fromEntries(settings)));
}

function only(known: Readonly<Record<string, unknown>>, record: object): object {
  return Object.fromEntries(Object.entries(known).filter(([name]) => name in record));
}
