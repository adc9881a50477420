/** Reads the access effects and facts in the order in which seals cover them. */
import { statement } from "../db/statement.ts";
import type { TenantTx } from "../tenancy/tenant-tx.ts";
import type { EffectRow, FactRow, LateEffectRow } from "./access-rows.ts";

const seal = "coalesce(sealed_in, generation)";
const selectEffects = statement<
  EffectRow,
  [tenantId: string, after: number, through: number, last: number, limit: number]
>(
  "audit.effects",
  `SELECT generation, ${seal} AS "sealedIn", since, summary::text AS summary FROM access_effects
   WHERE tenant_id = $1 AND ${seal} > $2 AND ${seal} <= $3 AND generation > $4 ORDER BY generation LIMIT $5`,
);
const selectFacts = statement<
  FactRow,
  [tenantId: string, after: number, through: number, generation: number, kind: string, record: string, limit: number]
>(
  "audit.facts",
  `SELECT generation, first_generation AS "firstGeneration", kind, record, facts::text AS facts FROM access_history
   WHERE tenant_id = $1 AND generation > $2 AND generation <= $3
     AND (generation, kind COLLATE "C", record COLLATE "C") > ($4, $5, $6)
   ORDER BY generation, kind COLLATE "C", record COLLATE "C" LIMIT $7`,
);
const selectLateEffects = statement<
  LateEffectRow,
  [tenantId: string, after: number, through: number, last: number, limit: number]
>(
  "audit.late_effects",
  `SELECT generation, ${seal} AS "sealedIn", computed_at AS "computedAt", summary::text AS summary
   FROM access_late_effects
   WHERE tenant_id = $1 AND summary IS NOT NULL AND ${seal} > $2 AND ${seal} <= $3 AND generation > $4
   ORDER BY generation LIMIT $5`,
);
const selectHash = statement<{ hash: string | null }, [tenantId: string, through: number]>(
  "audit.access_record_hash",
  "SELECT encode(access_record_hash($1, -1, $2), 'hex') AS hash",
);

const rowsAtOnce = 500;

/** All effects that the seals after one generation and through another cover. */
export async function* readSealedEffects(tx: TenantTx, after: number, through: number): AsyncGenerator<EffectRow> {
  let last = -1;
  for (;;) {
    const rows = await tx.query(selectEffects, tx.tenantId, after, through, last, rowsAtOnce);
    yield* rows;
    const end = rows.at(-1);
    if (end === undefined || rows.length < rowsAtOnce) return;
    last = end.generation;
  }
}

/** All late effects that the seals after one generation and through another cover. */
export async function* readSealedLateEffects(
  tx: TenantTx,
  after: number,
  through: number,
): AsyncGenerator<LateEffectRow> {
  let last = -1;
  for (;;) {
    const rows = await tx.query(selectLateEffects, tx.tenantId, after, through, last, rowsAtOnce);
    yield* rows;
    const end = rows.at(-1);
    if (end === undefined || rows.length < rowsAtOnce) return;
    last = end.generation;
  }
}

/** All facts that the seals after one generation and through another cover. */
export async function* readSealedFacts(tx: TenantTx, after: number, through: number): AsyncGenerator<FactRow> {
  let last = { generation: -1, kind: "", record: "" };
  for (;;) {
    const { generation, kind, record } = last;
    const rows = await tx.query(selectFacts, tx.tenantId, after, through, generation, kind, record, rowsAtOnce);
    yield* rows;
    const end = rows.at(-1);
    if (end === undefined || rows.length < rowsAtOnce) return;
    last = end;
  }
}

/** The hash of all effects and facts through a generation, in hexadecimal, or null. */
export async function accessRecordHash(tx: TenantTx, through: number): Promise<string | null> {
  return (await tx.query(selectHash, tx.tenantId, through))[0]?.hash ?? null;
}
