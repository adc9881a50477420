/** The history of facts, and the effect of each command on access. */
import { setImmediate as turn } from "node:timers/promises";
import type { EffectSummary } from "@gatehouse/contract/records/effect";
import type { ResourceFacts } from "@gatehouse/policy/model/facts";
import { portCount } from "@gatehouse/policy/model/protocol-lists";
import type { Work } from "@gatehouse/policy/work";
import { insertingVersions } from "../../../platform/audit/effect-rows.queries.ts";
import { sendAhead } from "../../../platform/db/send-ahead.ts";
import { isLastPage, type SizedRow, sizedPage } from "../../../platform/db/sized-page.ts";
import { statement } from "../../../platform/db/statement.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { sharingProtocols } from "../models/packed/shared-protocols.ts";

/** The largest part of the history that one statement writes. The driver serializes each statement at once. */
const largestChunk = { versions: 500, characters: 256 * 1024 };
/** The cost of a version in rule-cost units: one unit for each of these characters, and a constant. */
const charactersOfUnit = 10;
const versionCost = 30;

/** The facts of a record after a command. */
export interface HistoryRow {
  readonly kind: string;
  readonly record: string;
  readonly firstGeneration: number;
  readonly generation: number;
  /** Ids for `policy-order`. Null if the record was deleted. */
  readonly facts: object | null;
}

/** A version to write. */
export interface HistoryVersion {
  readonly kind: string;
  readonly record: string;
  readonly facts: object | undefined;
}

const columns = 'kind, record, generation, first_generation AS "firstGeneration", facts';

/** The most versions of a page, and their stored size after which it contains no further version. */
const mostVersions = 2_000;
const mostBytes = 250_000;

/** SQL for the start of a page, limited by the stored size. A version of a resource can have 400 kB of text. */
function limited(versions: string, order: string): string {
  return `SELECT ${columns}, found FROM (${sizedPage(`${versions} LIMIT ${mostVersions}`, order, mostBytes)}) AS page`;
}

const stored = "kind, record, generation, first_generation, facts, coalesce(pg_column_size(facts), 0) AS size";

type PageRow = HistoryRow & SizedRow;

/** One query for both, because each query is planned for its generation. */
const selectAfter = statement<
  Omit<PageRow, "kind"> & { readonly kind: string | null; readonly effects: number },
  [tenantId: string, since: number, generation: number, kind: string, record: string]
>(
  "access.history_after",
  `SELECT counted.effects, version.*
   FROM (
     SELECT count(*)::integer AS effects FROM access_effects WHERE tenant_id = $1 AND generation > $2
   ) AS counted
   LEFT JOIN (${limited(
     `SELECT ${stored} FROM access_history WHERE tenant_id = $1 AND generation > $2
      AND (generation, kind, record) > ($3::bigint, $4, $5) ORDER BY generation, kind, record`,
     "generation, kind, record",
   )}) AS version ON true
   ORDER BY version.generation, version.kind, version.record`,
);

const selectOf = statement<PageRow, [tenantId: string, generation: number, kind: string, record: string]>(
  "access.history_of",
  `${limited(
    `SELECT ${stored} FROM access_history
     WHERE tenant_id = $1 AND generation = $2 AND (kind, record) > ($3, $4) ORDER BY kind, record`,
    "kind, record",
  )} ORDER BY kind, record`,
);

const selectAt = statement<PageRow, [tenantId: string, generation: number, kind: string, record: string]>(
  "access.history_at",
  `${limited(
    `SELECT DISTINCT ON (kind, record) ${stored} FROM access_history
     WHERE tenant_id = $1 AND generation <= $2 AND (kind, record) > ($3, $4) ORDER BY kind, record, generation DESC`,
    "kind, record",
  )} ORDER BY kind, record`,
);

const insertVersions = statement<never, [tenantId: string, generation: number, versions: string]>(
  "access.insert_history",
  insertingVersions("$2", "$3"),
);

const selectBounds = statement<HistoryBounds, [tenantId: string, at: Date]>(
  "access.history_bounds",
  `SELECT (SELECT since FROM access_effects WHERE tenant_id = $1 ORDER BY generation LIMIT 1) AS begins,
     (SELECT generation FROM access_effects WHERE tenant_id = $1 ORDER BY generation DESC LIMIT 1) AS latest,
     (SELECT generation FROM access_effects WHERE tenant_id = $1 AND since <= $2
      ORDER BY since DESC, generation DESC LIMIT 1) AS held`,
);

const selectEffect = statement<StoredEffect, [tenantId: string, eventId: string]>(
  "access.effect_of_event",
  `SELECT event.generation, event.created_at AS "createdAt", event.reason, effect.summary,
     late.tenant_id IS NOT NULL AS late, late.summary AS "lateSummary",
     event.generation <= (SELECT generation FROM access_effects WHERE tenant_id = $1 ORDER BY generation LIMIT 1) AS early
   FROM audit_events AS event
   LEFT JOIN access_effects AS effect ON effect.tenant_id = event.tenant_id AND effect.generation = event.generation
   LEFT JOIN access_late_effects AS late ON late.tenant_id = event.tenant_id AND late.generation = event.generation
   WHERE event.tenant_id = $1 AND event.id = $2`,
);

export interface HistoryBounds {
  /** The start of the history, in ISO 8601. */
  readonly begins: string | null;
  /** The last generation made by a command that could change access. */
  readonly latest: number | null;
  /** The generation in force at the requested time; null before the start of the history. */
  readonly held: number | null;
}

/** The effect of an event's command on access. */
export interface StoredEffect {
  readonly generation: number;
  readonly createdAt: string;
  readonly reason: string | null;
  /** Null for a command that could not change access, and for events older than the history. */
  readonly summary: EffectSummary | null;
  /** Whether the effect is computed after the commit. Until then, `summary` has only the broken tests. */
  readonly late: boolean;
  /** Null until the effect is computed. */
  readonly lateSummary: EffectSummary | null;
  /** Whether the event may be older than the history. */
  readonly early: boolean | null;
}

/** The history after a generation. */
export interface LaterHistory {
  /** The versions, in the order of generations. */
  readonly versions: readonly HistoryRow[];
  /** The number of generations that have a stored effect. */
  readonly effects: number;
}

/** Reads the versions and counts the effects after a generation. */
export async function readHistoryAfter(tx: TenantTx, generation: number): Promise<LaterHistory> {
  let effects = 0;
  const versions = await readPages(async (last) => {
    const from = last ?? { generation, kind: "", record: "" };
    const rows = await tx.query(selectAfter, tx.tenantId, generation, from.generation, from.kind, from.record);
    effects = rows[0]?.effects ?? 0;
    // Without versions, there is one row without a version.
    return rows.filter((row): row is PageRow & { effects: number } => row.kind !== null);
  });
  return { versions, effects };
}

/** The versions that one generation made. */
export function readHistoryOf(tx: TenantTx, generation: number): Promise<readonly HistoryRow[]> {
  return readPages((last) => tx.query(selectOf, tx.tenantId, generation, last?.kind ?? "", last?.record ?? ""));
}

/** The versions in force at a generation. */
export async function readHistoryAt(tx: TenantTx, generation: number): Promise<readonly HistoryRow[]> {
  const latest = await readPages((last) =>
    tx.query(selectAt, tx.tenantId, generation, last?.kind ?? "", last?.record ?? ""),
  );
  return latest.filter(({ facts }) => facts !== null);
}

/** @param readPage reads the page that follows a version */
async function readPages(readPage: (last: HistoryRow | undefined) => Promise<PageRow[]>): Promise<HistoryRow[]> {
  const versions: HistoryRow[] = [];
  for (;;) {
    const page = await readPage(versions.at(-1));
    let ports = 0;
    for (const { found, ...version } of page) {
      if (version.kind === "resource" && version.facts !== null) ports += shareLists(version.facts as ResourceFacts); // of a resource
      versions.push(version);
      if (ports < portsAtOnce) continue;
      await turn();
      ports = 0;
    }
    if (isLastPage(page, mostVersions)) return versions;
  }
}

/** The ports after which other events are served. */
const portsAtOnce = 20_000;

/**
 * Replaces lists of ports by the copies that all resources share.
 *
 * @param facts just read, and not used by anything else
 * @returns the number of ports
 */
function shareLists({ addresses }: ResourceFacts): number {
  let ports = 0;
  for (const address of addresses) {
    ports += portCount(address.protocols);
    Object.assign(address, { protocols: sharingProtocols(address.protocols) });
  }
  return ports;
}

/** Serializes versions to JSON arrays of limited size. */
class VersionSerializer {
  readonly #versions: Iterator<HistoryVersion>;
  #next: IteratorResult<HistoryVersion>;

  constructor(versions: Iterable<HistoryVersion>) {
    this.#versions = versions[Symbol.iterator]();
    this.#next = this.#versions.next();
  }

  get isOver(): boolean {
    return this.#next.done === true;
  }

  *next(): Work<string> {
    const rows: string[] = [];
    let characters = 0;
    while (rows.length < largestChunk.versions && characters < largestChunk.characters) {
      if (this.#next.done === true) break;
      const row = JSON.stringify(this.#next.value);
      this.#next = this.#versions.next();
      rows.push(row);
      characters += row.length;
      yield versionCost + row.length / charactersOfUnit;
    }
    return `[${rows.join(",")}]`;
  }
}

/**
 * Stores versions of facts, in the transaction that makes the generation and holds its lock, while the next ones are
 * serialized.
 *
 * @param perform performs work in slices
 * @returns the last versions, which were not stored, and whether others were
 */
export async function storeEarlyVersions(
  tx: TenantTx,
  generation: number,
  versions: Iterable<HistoryVersion>,
  perform: <Result>(work: Work<Result>) => Promise<Result>,
): Promise<{ readonly last: string; readonly areMore: boolean }> {
  const serializer = new VersionSerializer(versions);
  let chunk = await perform(serializer.next());
  const areMore = !serializer.isOver;
  await sendAhead(async (sent) => {
    while (!serializer.isOver) {
      await sent(tx.query(insertVersions, tx.tenantId, generation, chunk));
      chunk = await perform(serializer.next());
    }
  });
  return { last: chunk, areMore };
}

/** The bounds of the history, and the generation in force at a time. */
export async function readHistoryBounds(tx: TenantTx, at: Date): Promise<HistoryBounds> {
  return (await tx.query(selectBounds, tx.tenantId, at))[0] ?? { begins: null, latest: null, held: null };
}

/** @returns undefined if the event does not exist */
export async function readEffect(tx: TenantTx, eventId: string): Promise<StoredEffect | undefined> {
  return (await tx.query(selectEffect, tx.tenantId, eventId))[0];
}
