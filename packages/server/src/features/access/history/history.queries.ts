/** The history of what decisions are made from, and what each command did to access. */
import type { EffectSummary } from "@gatehouse/contract/records/effect";
import { statement } from "../../../platform/db/statement.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";

/** The facts of a record as a command left them. */
export interface HistoryRow {
  readonly kind: string;
  readonly record: string;
  readonly firstGeneration: number;
  readonly generation: number;
  /** Of `policy-order`, ids. Null: gone. */
  readonly facts: object | null;
}

/** A version to be written. */
export interface HistoryVersion {
  readonly kind: string;
  readonly record: string;
  readonly facts: object | undefined;
}

const columns = 'kind, record, generation, first_generation AS "firstGeneration", facts';

const selectAfter = statement<HistoryRow, [tenantId: string, after: number]>(
  "access.history_after",
  `SELECT ${columns} FROM access_history WHERE tenant_id = $1 AND generation > $2 ORDER BY generation`,
);

const countAfter = statement<{ count: number }, [tenantId: string, after: number]>(
  "access.count_effects_after",
  "SELECT count(*)::integer AS count FROM access_effects WHERE tenant_id = $1 AND generation > $2",
);

const selectAt = statement<HistoryRow, [tenantId: string, generation: number]>(
  "access.history_at",
  `SELECT * FROM (
     SELECT DISTINCT ON (kind, record) ${columns} FROM access_history
     WHERE tenant_id = $1 AND generation <= $2 ORDER BY kind, record, generation DESC
   ) AS latest WHERE facts IS NOT NULL`,
);

const insertVersions = statement<
  never,
  [
    tenantId: string,
    generation: number,
    kinds: readonly string[],
    records: readonly string[],
    facts: readonly (string | null)[],
  ]
>(
  "access.insert_history",
  `INSERT INTO access_history (tenant_id, kind, record, generation, first_generation, facts)
   SELECT $1, version.kind, version.record, $2, coalesce((
       SELECT earlier.first_generation FROM access_history AS earlier
       WHERE earlier.tenant_id = $1 AND earlier.kind = version.kind AND earlier.record = version.record
       ORDER BY earlier.generation DESC LIMIT 1
     ), $2), version.facts::json
   FROM unnest($3::text[], $4::text[], $5::text[]) AS version (kind, record, facts)`,
);

const insertEffect = statement<never, [tenantId: string, generation: number, at: Date, summary: string]>(
  "access.insert_effect",
  `INSERT INTO access_effects (tenant_id, generation, since, summary)
   SELECT $1, $2, greatest($3, (
       SELECT latest.since FROM access_effects AS latest WHERE latest.tenant_id = $1 ORDER BY latest.generation DESC LIMIT 1
     )), $4::json`,
);

const selectEffects = statement<
  { readonly generation: number; readonly summary: EffectSummary | null },
  [tenantId: string, after: number]
>(
  "access.effects_after",
  "SELECT generation, summary FROM access_effects WHERE tenant_id = $1 AND generation > $2 ORDER BY generation",
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
     event.generation <= (SELECT generation FROM access_effects WHERE tenant_id = $1 ORDER BY generation LIMIT 1) AS early
   FROM audit_events AS event
   LEFT JOIN access_effects AS effect ON effect.tenant_id = event.tenant_id AND effect.generation = event.generation
   WHERE event.tenant_id = $1 AND event.id = $2`,
);

export interface HistoryBounds {
  /** The moment that the history begins at, in ISO 8601. */
  readonly begins: string | null;
  /** The last generation that a command which could change access made. */
  readonly latest: number | null;
  /** The one that held at the moment asked for; null before the history begins. */
  readonly held: number | null;
}

/** What an entry's command did to access. */
export interface StoredEffect {
  readonly generation: number;
  readonly createdAt: string;
  readonly reason: string | null;
  /** Null for a command that could not change access, or from before there was a history. */
  readonly summary: EffectSummary | null;
  /** Whether the entry may be from before there was a history. */
  readonly early: boolean | null;
}

/** Versions of later generations than one, in their order. */
export function readHistoryAfter(tx: TenantTx, generation: number): Promise<readonly HistoryRow[]> {
  return tx.query(selectAfter, tx.tenantId, generation);
}

/** How many generations after one had an effect stored. */
export async function countEffectsAfter(tx: TenantTx, generation: number): Promise<number> {
  return (await tx.query(countAfter, tx.tenantId, generation))[0]?.count ?? 0;
}

/** What held at a generation. */
export function readHistoryAt(tx: TenantTx, generation: number): Promise<readonly HistoryRow[]> {
  return tx.query(selectAt, tx.tenantId, generation);
}

/** In the transaction that makes the generation, which has locked it. */
export async function insertHistory(
  tx: TenantTx,
  generation: number,
  versions: readonly HistoryVersion[],
): Promise<void> {
  if (versions.length === 0) return;
  await tx.query(
    insertVersions,
    tx.tenantId,
    generation,
    versions.map(({ kind }) => kind),
    versions.map(({ record }) => record),
    versions.map(({ facts }) => (facts === undefined ? null : JSON.stringify(facts))),
  );
}

/** @param at the time when the generation was locked */
export async function storeEffect(tx: TenantTx, generation: number, at: Date, summary: EffectSummary): Promise<void> {
  await tx.query(insertEffect, tx.tenantId, generation, at, JSON.stringify(summary));
}

/** Where the history begins and ends, and what of it held at a moment. */
export async function readHistoryBounds(tx: TenantTx, at: Date): Promise<HistoryBounds> {
  return (await tx.query(selectBounds, tx.tenantId, at))[0] ?? { begins: null, latest: null, held: null };
}

/** @returns undefined when there is no such entry */
export async function readEffect(tx: TenantTx, eventId: string): Promise<StoredEffect | undefined> {
  return (await tx.query(selectEffect, tx.tenantId, eventId))[0];
}

/** What commands did to access after a generation, in their order. */
export function readEffects(
  tx: TenantTx,
  after: number,
): Promise<readonly { readonly generation: number; readonly summary: EffectSummary | null }[]> {
  return tx.query(selectEffects, tx.tenantId, after);
}
