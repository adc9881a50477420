/** Verifies that the access effects and facts in the database are those that the chain covers. */
import type { TenantTx } from "../tenancy/tenant-tx.ts";
import { readSealedEffects, readSealedFacts, readSealedLateEffects } from "./access-rows.queries.ts";
import { AccessRowsHash } from "./access-rows.ts";
import type { HistoryBaseline } from "./history-baseline.ts";
import { noEnd, readSeals } from "./record.queries.ts";
import type { Finding } from "./verify-record.ts";

const sealsAtOnce = 100;

/**
 * @param baseline covers the rows through its generation; undefined if seals cover all rows
 * @returns the problems, in the order of generations
 */
export async function* verifyHistory(tx: TenantTx, baseline: HistoryBaseline | undefined): AsyncGenerator<Finding> {
  const begin = baseline?.historyThrough ?? -1;
  if (baseline !== undefined && (await hashThrough(tx, begin)) !== baseline.historyHash) {
    const message = `The access effects or facts through generation ${begin} are not those that the record covers.`;
    yield { problem: "history", message };
  }
  let after = begin;
  for (;;) {
    const seals = await readSeals(tx, after, noEnd, sealsAtOnce);
    // The last page also covers rows after the last seal, which nothing seals.
    const through = seals.length < sealsAtOnce ? noEnd : (seals.at(-1)?.generation ?? noEnd);
    const found = await hashesBySeal(tx, after, through);
    for (const { generation, firstPosition: position, createdAt, details } of seals) {
      if (found.get(generation) !== details) {
        const what = details === undefined ? "has access effects or facts that nothing seals" : "is not the sealed one";
        const message = `The access effect or history of generation ${generation} ${what}.`;
        yield { problem: "history", position, createdAt, message };
      }
      found.delete(generation);
    }
    for (const generation of found.keys()) {
      const message = `Nothing seals the access effect or history of generation ${generation}.`;
      yield { problem: "history", message };
    }
    if (through === noEnd) return;
    after = through;
  }
}

async function hashThrough(tx: TenantTx, through: number): Promise<string | null> {
  const hash = new AccessRowsHash();
  for await (const row of readSealedEffects(tx, -1, through)) hash.effect(row);
  for await (const row of readSealedFacts(tx, -1, through)) hash.fact(row);
  for await (const row of readSealedLateEffects(tx, -1, through)) hash.lateEffect(row);
  return hash.digest() ?? null;
}

async function hashesBySeal(tx: TenantTx, after: number, through: number): Promise<Map<number, string | undefined>> {
  const hashes = new Map<number, AccessRowsHash>();
  const hashOf = (generation: number) => {
    const known = hashes.get(generation) ?? new AccessRowsHash();
    hashes.set(generation, known);
    return known;
  };
  for await (const row of readSealedEffects(tx, after, through)) hashOf(row.sealedIn).effect(row);
  for await (const row of readSealedFacts(tx, after, through)) hashOf(row.generation).fact(row);
  for await (const row of readSealedLateEffects(tx, after, through)) hashOf(row.sealedIn).lateEffect(row);
  return new Map([...hashes].map(([generation, hash]) => [generation, hash.digest()]));
}
