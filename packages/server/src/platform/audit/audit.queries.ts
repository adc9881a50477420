import type { Work } from "@gatehouse/policy/work";
import type { Origin, RecordedChange } from "../change.ts";
import type { Transaction } from "../db/database.ts";
import { sendAhead } from "../db/send-ahead.ts";
import { statement } from "../db/statement.ts";
import { isSmall, jsonParts } from "../json-slices.ts";
import type { AccessEffect } from "../tenancy/access-ledger.ts";
import { lockGeneration } from "../tenancy/generation.queries.ts";
import type { TenantTx } from "../tenancy/tenant-tx.ts";
import { detailsDomain, entryHash, hashBytes, hashingEntry } from "./chain.ts";
import { effectHash, insertingEffect, insertingVersions, versionHash } from "./effect-rows.queries.ts";
import { type Entry, newEntry } from "./entry.ts";

/** The largest part of a record that one statement writes. The driver serializes each statement at once. */
const largestChunk = { entries: 500, characters: 256 * 1024 };
/** The cost of an entry in rule-cost units: one unit for each of these characters, and a constant. */
const charactersOfUnit = 3;
const entryCost = 250;

/** Some entries of a command, as a JSON array. */
interface Chunk {
  readonly json: string;
  readonly count: number;
}

/** The entries of a command after all but the last chunk were stored. */
export interface StoredEntries {
  readonly last: Chunk;
  /** The number of all entries. */
  readonly total: number;
  /** The hash of each entry, in order. */
  readonly hashes: Buffer;
  /** The outbox entry, as JSON. */
  readonly changes: string;
}

const entryRows = (parameter: string) => `ROWS FROM (json_to_recordset(${parameter}::json) AS (
       id uuid, operation text, target_type text, target_id uuid, target_name text, before json, after json,
       reason text, reverts uuid)) WITH ORDINALITY
     AS entry (id, operation, target_type, target_id, target_name, before, after, reason, reverts, place)`;

const entryColumns = `tenant_id, id, created_at, generation, position, actor_type, actor_id, actor_name, operation,
       target_type, target_id, target_name, before, after, request_id, source_address, reason, reverts`;

/** Inserts some of the entries of the next generation, whose row the transaction has locked. */
const insertEntries = statement<
  never,
  [
    tenantId: string,
    at: Date,
    actorType: string,
    actorId: string | null,
    actorName: string,
    requestId: string,
    sourceAddress: string | null,
    entries: string,
    earlier: number,
  ]
>(
  "audit.insert_entries",
  `INSERT INTO audit_events (${entryColumns})
   SELECT $1, entry.id, $2, latest.generation + 1, latest.event_count + $9::bigint + entry.place, $3, $4, $5,
          entry.operation, entry.target_type, entry.target_id, entry.target_name, entry.before, entry.after, $6, $7,
          entry.reason, entry.reverts
   FROM tenant_generations AS latest, ${entryRows("$8")}
   WHERE latest.tenant_id = $1`,
);

type Appended = readonly [
  tenantId: string,
  at: Date,
  actorType: string,
  actorId: string | null,
  actorName: string,
  requestId: string,
  sourceAddress: string | null,
  entries: string,
  earlier: number,
  total: number,
  changes: string,
  atMs: number,
  entryHashes: Buffer,
];

/**
 * SQL that stores the last audit entries of a command, the seal of all of them, its outbox entry and the tenant's new
 * generation in one statement. It must be the last statement of its transaction: it locks the row of
 * tenant_generations, which orders the commands of a tenant. It hashes the same bytes as `sealHash` in chain.ts.
 *
 * The entries travel as JSON: PostgreSQL estimates the same number of rows for every list, so it soon keeps one plan.
 *
 * @param details SQL of queries, the last of which returns the hash of the command's effects and facts
 */
const appending = (details: string) => `WITH ${details}, bumped AS (
     UPDATE tenant_generations
     SET generation = generation + 1, event_count = event_count + $10::bigint,
         chain_hash = sha256(chain_hash || uuid_send($1) || int8send(generation + 1) || int8send(event_count + 1)
                             || int8send($12::bigint) || $13::bytea
                             || coalesce('${detailsDomain}'::bytea || (SELECT hash FROM details), ''::bytea))
     WHERE tenant_id = $1
     RETURNING generation, event_count - $10::bigint AS last_position, chain_hash
   ), audited AS (
     INSERT INTO audit_events (${entryColumns})
     SELECT $1, entry.id, $2, bumped.generation, bumped.last_position + $9::bigint + entry.place, $3, $4, $5,
            entry.operation, entry.target_type, entry.target_id, entry.target_name, entry.before, entry.after, $6, $7,
            entry.reason, entry.reverts
     FROM bumped, ${entryRows("$8")}
   ), sealed AS (
     INSERT INTO audit_seals (tenant_id, generation, created_at, first_position, entry_hashes, details, hash)
     SELECT $1, generation, $2, last_position + 1, $13, (SELECT hash FROM details), chain_hash FROM bumped
   )
   INSERT INTO outbox (tenant_id, generation, created_at, changes)
   SELECT $1, generation, $2, $11::jsonb FROM bumped`;

/**
 * Appends a command without an effect. A late effect that it completes is stored before, under the generation's lock.
 */
const appendRecord = statement<never, [...Appended, storesLateEffect: boolean]>(
  "audit.append",
  appending(`details AS (
     SELECT access_record_hash($1, generation, generation + 1) AS hash
     FROM tenant_generations WHERE $14::boolean AND tenant_id = $1
   )`),
);

/**
 * Also stores the effect and the last facts. Their hash is that of `access_record_hash`, which would read the rows
 * again. Only a command with very many facts has stored some of them before, under the generation's lock.
 */
const appendWithEffect = statement<
  never,
  [
    ...Appended,
    generation: number,
    versions: string,
    effectAt: Date,
    summary: string,
    isLate: boolean,
    hasEarlierVersions: boolean,
  ]
>(
  "audit.append_with_effect",
  appending(`versions AS (
     ${insertingVersions("$14", "$15")} RETURNING generation, kind, record, first_generation, facts
   ), effect AS (
     ${insertingEffect("$14", "$16", "$17")} RETURNING generation, since, summary
   ), late AS (
     INSERT INTO access_late_effects (tenant_id, generation, since) SELECT $1, $14, $16 WHERE $18::boolean
   ), details AS (
     SELECT sha256(string_agg(item.hash, ''::bytea ORDER BY item.part, item.kind COLLATE "C", item.record COLLATE "C")) AS hash
     FROM (
       SELECT 1 AS part, '' AS kind, '' AS record, ${effectHash} AS hash FROM effect
       UNION ALL
       SELECT 2, kind, record, ${versionHash} FROM versions
       UNION ALL
       SELECT 2, kind, record, ${versionHash} FROM access_history
       WHERE $19::boolean AND tenant_id = $1 AND generation = $14
     ) AS item
   )`),
);

function kindOf(entry: Entry): "created" | "updated" | "deleted" {
  if (entry.before === undefined) return "created";
  return entry.after === undefined ? "deleted" : "updated";
}

/** Whether the entry of a change must be serialized in slices. */
export function isLargeChange({ change: { before, after } }: RecordedChange): boolean {
  return !isSmall(before) || !isSmall(after);
}

/** Serializes and hashes the entries of a command, chunk by chunk. */
export class EntrySerializer {
  readonly #recorded: readonly RecordedChange[];
  readonly #hashes: Buffer;
  readonly #changes: string[] = [];
  #done = 0;

  constructor(recorded: readonly RecordedChange[]) {
    this.#recorded = recorded;
    this.#hashes = Buffer.alloc(recorded.length * hashBytes);
  }

  get isOver(): boolean {
    return this.#done === this.#recorded.length;
  }

  /** The next chunk. */
  *next(): Work<Chunk> {
    const rows: string[] = [];
    let characters = 0;
    while (rows.length < largestChunk.entries && characters < largestChunk.characters) {
      const recorded = this.#recorded[this.#done];
      if (recorded === undefined) break;
      const entry = newEntry(recorded.id, recorded.origin, recorded.change);
      const { id, operation, target, before, after, reason, reverts } = entry;
      const columns = {
        id,
        operation,
        target_type: target.type,
        target_id: target.id,
        target_name: target.name,
        before,
        after,
        reason,
        reverts,
      };
      const isLarge = isLargeChange(recorded);
      const row = isLarge ? (yield* jsonParts(columns)).join("") : JSON.stringify(columns);
      rows.push(row);
      characters += row.length;
      const hash = isLarge ? yield* hashingEntry(entry) : entryHash(entry);
      hash.copy(this.#hashes, this.#done * hashBytes);
      this.#changes.push(JSON.stringify({ type: target.type, id: target.id, change: kindOf(entry) }));
      this.#done += 1;
      yield entryCost + (isLarge ? 0 : row.length / charactersOfUnit);
    }
    return { json: `[${rows.join(",")}]`, count: rows.length };
  }

  /** Returns the entries; only the last chunk must still be stored. */
  stored(last: Chunk): StoredEntries {
    return { last, total: this.#done, hashes: this.#hashes, changes: `[${this.#changes.join(",")}]` };
  }
}

/**
 * Stores all entries but those of the last chunk, while the next ones are serialized. Locks the generation first, so
 * the transaction must not wait for other locks afterwards.
 *
 * @param origin the author and the request; the entries have operation and reason
 * @param perform performs work in slices
 * @param storeBefore sends what must be stored before: the entries of the previous command of the transaction
 */
export async function storeEarlyEntries(
  tx: TenantTx,
  origin: Origin,
  recorded: readonly RecordedChange[],
  perform: <Result>(work: Work<Result>) => Result | Promise<Result>,
  storeBefore: () => unknown = () => undefined,
): Promise<StoredEntries> {
  const serializer = new EntrySerializer(recorded);
  let chunk = await perform(serializer.next());
  if (serializer.isOver) return serializer.stored(chunk);
  await storeBefore();
  await lockGeneration(tx);
  let earlier = 0;
  await sendAhead(async (sent) => {
    while (!serializer.isOver) {
      const { json, count } = chunk;
      await sent(tx.query(insertEntries, ...commonOf(tx.tenantId, origin), json, earlier));
      earlier += count;
      chunk = await perform(serializer.next());
    }
  });
  return serializer.stored(chunk);
}

/**
 * Appends a command's changes to the audit record, sealed, and to the outbox, and stores its effect.
 * `storeEarlyEntries` has stored the other chunks.
 *
 * @param origin the author and the request; the entries have operation and reason
 * @param entries at least one
 * @param details the effect of the command; or whether it has stored a late effect, which the seal then covers
 */
export function appendToRecord(
  transaction: Pick<Transaction, "query">,
  tenantId: string,
  origin: Origin,
  { last, total, hashes, changes }: StoredEntries,
  details: AccessEffect | { readonly storesLateEffect: boolean },
): Promise<unknown> {
  const appended: Appended = [
    ...commonOf(tenantId, origin),
    last.json,
    total - last.count,
    total,
    changes,
    origin.at.getTime(),
    hashes,
  ];
  if ("storesLateEffect" in details) return transaction.query(appendRecord, ...appended, details.storesLateEffect);
  const { generation, at, summary, versions, isLate, hasEarlierVersions } = details;
  const effect = [generation, versions, at, JSON.stringify(summary), isLate, hasEarlierVersions] as const;
  return transaction.query(appendWithEffect, ...appended, ...effect);
}

function commonOf(tenantId: string, { at, actor, requestId, sourceAddress }: Origin) {
  return [tenantId, at, actor.type, actor.id ?? null, actor.name, requestId, sourceAddress ?? null] as const;
}
