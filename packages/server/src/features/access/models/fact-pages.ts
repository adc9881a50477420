/** Reads all facts of a tenant of any size: in pages, so that the time of a statement does not grow with the tenant. */
import type { FactsByKind } from "@gatehouse/policy/model/facts";
import { readGeneration } from "../../../platform/tenancy/generation.queries.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import {
  type FactRows,
  pageStatements,
  readNamedFacts,
  readPolicyIds,
  type UnorderedKind,
  unorderedKinds,
} from "./facts.queries.ts";

/** A page of 1,000 users takes PostgreSQL and the driver a few milliseconds each. */
const defaultPageSize = 1_000;

export interface FactPages {
  /** Receives each page before its rows are used. The next page of the same kind is read after the promise resolves. */
  readonly received: (page: FactRows) => Promise<void>;
  /** The most rows of a page. */
  readonly pageSize?: number | undefined;
}

/**
 * Reads all facts in one snapshot. Pages of different kinds are read side by side, and the database works while others
 * are received.
 *
 * @param tx sees one snapshot
 * @returns the facts with their generation; undefined after the tenant was deleted
 */
export async function readFactPages(
  tx: TenantTx,
  { received, pageSize = defaultPageSize }: FactPages,
): Promise<{ readonly generation: number | undefined; readonly facts: FactRows }> {
  const facts = { ...noFacts() };
  let hasFailed = false;
  const reading = async (kind: UnorderedKind) => {
    const statement = pageStatements(pageSize)[kind];
    const rows: FactRows[UnorderedKind][number][] = [];
    for (let after = firstId; !hasFailed; ) {
      const page = await tx.query(statement, tx.tenantId, after);
      const last = page.at(-1);
      if (last === undefined) break;
      await received({ ...noFacts(), [kind]: page });
      for (const row of page) rows.push(row);
      if (page.length < pageSize) break;
      after = last.id;
    }
    Object.assign(facts, { [kind]: rows });
  };
  const readingPolicies = async () => {
    const ids = await readPolicyIds(tx);
    const policies: FactsByKind["policy"][] = [];
    for (let start = 0; start < ids.length && !hasFailed; start += pageSize) {
      const named = { ...noFacts(), policies: ids.slice(start, start + pageSize) };
      const page = await readNamedFacts(tx, named);
      await received(page);
      policies.push(...page.policies);
    }
    Object.assign(facts, { policies });
  };
  // No query may be sent after the transaction has ended, so all others are awaited after a failure.
  const guarded = (read: Promise<unknown>) =>
    read.catch((error: unknown) => {
      hasFailed = true;
      throw error;
    });
  const generation = readGeneration(tx);
  const reads = [generation, ...unorderedKinds.map(reading), readingPolicies()].map(guarded);
  for (const result of await Promise.allSettled(reads)) if (result.status === "rejected") throw result.reason;
  return { generation: await generation, facts };
}

/** Less than the id of any record. */
const firstId = "00000000-0000-0000-0000-000000000000";

function noFacts() {
  return { users: [], groups: [], devices: [], gateways: [], resources: [], rules: [], policies: [] };
}
