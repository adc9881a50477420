/** Foreign keys whose rows PostgreSQL changes when another row is deleted, from its catalogue. */
import type { Transaction } from "../platform/db/database.ts";
import { unprepared } from "../platform/db/statement.ts";

/** A column that refers to the rows of another table. */
export interface DeletedReference {
  readonly table: string;
  readonly column: string;
  /** The table to which the column refers. */
  readonly parent: string;
}

const select = unprepared<DeletedReference, []>(
  `SELECT conrelid::regclass::text AS "table", attname AS "column", confrelid::regclass::text AS parent
   FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[cardinality(conkey)]
   WHERE contype = 'f' AND confdeltype NOT IN ('a', 'r') AND connamespace = 'public'::regnamespace
     AND confrelid <> 'tenants'::regclass
   ORDER BY parent, 1, 2`,
);

/** The references that PostgreSQL deletes or clears together with the row they refer to. */
export function deletedReferences(tx: Pick<Transaction, "query">): Promise<DeletedReference[]> {
  return tx.query(select);
}

/** Whether a row of the tenant refers to the record. */
export async function isReferred(
  tx: Pick<Transaction, "query">,
  { table, column }: DeletedReference,
  id: string,
): Promise<boolean> {
  const rows = await tx.query(
    unprepared<{ found: true }, [id: string]>(`SELECT true AS found FROM ${table} WHERE ${column} = $1 LIMIT 1`),
    id,
  );
  return rows.length > 0;
}
