/** Query plans of PostgreSQL, for tests of query costs. */
import type { Transaction } from "../platform/db/database.ts";
import { unprepared } from "../platform/db/statement.ts";

export interface PlanNode {
  readonly "Node Type": string;
  readonly "Actual Loops": number;
  readonly "Actual Rows": number;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Rows Removed by Join Filter"?: number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly PlanNode[];
}

/** Makes the planner join as if it expected hardly any rows, until the transaction ends. */
export const misled = unprepared<never, []>(
  "SELECT set_config(name, 'off', true) FROM unnest(ARRAY['enable_hashjoin', 'enable_mergejoin', 'enable_memoize']) AS name",
);

/** Makes the planner run the subquery of a join for each row, if it can, until the transaction ends. */
export const rescanning = unprepared<never, []>(
  `SELECT set_config(name, 'off', true)
   FROM unnest(ARRAY['enable_hashjoin', 'enable_mergejoin', 'enable_hashagg', 'enable_sort', 'enable_material']) AS name`,
);

/** Makes the planner use an index of a small table, as it does if the table is large, until the transaction ends. */
export const indexed = unprepared<never, []>(
  "SELECT set_config(name, 'off', true) FROM unnest(ARRAY['enable_seqscan', 'enable_bitmapscan']) AS name",
);

/** Runs a query and returns its plan instead of its rows. */
export async function explained(
  transaction: Transaction,
  { text }: { readonly text: string },
  parameters: readonly unknown[],
): Promise<PlanNode> {
  const explain = unprepared<{ "QUERY PLAN": readonly [{ Plan: PlanNode }] }, readonly unknown[]>(
    `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
  );
  const [row] = await transaction.query(explain, ...parameters);
  if (row === undefined) throw new Error("EXPLAIN returned no plan");
  return row["QUERY PLAN"][0].Plan;
}
