/** SQL for the records that the outbox names since a generation, which is the second parameter. */

const changesSince = `FROM outbox AS entry CROSS JOIN jsonb_array_elements(entry.changes) AS change
    WHERE entry.tenant_id = $1 AND entry.generation > $2`;

/** SQL for the ids of records of a type that changed. */
export function changedIds(type: string, change?: "updated"): string {
  const ofKind = change === undefined ? "" : ` AND change ->> 'change' = '${change}'`;
  return `SELECT (change ->> 'id')::uuid ${changesSince} AND change ->> 'type' = '${type}'${ofKind}`;
}

/** SQL for whether any record of the types was deleted. */
export function hasDeleted(types: readonly string[]): string {
  const list = types.map((type) => `'${type}'`).join(", ");
  return `EXISTS (SELECT ${changesSince} AND change ->> 'change' = 'deleted' AND change ->> 'type' IN (${list}))`;
}

/**
 * SQL for whether a column has one of the ids that a query returns. PostgreSQL runs the query first, and then uses an
 * index of the column. For IN, it would expect many ids and read all rows of the tenant.
 */
export function isAmong(column: string, ids: string): string {
  return `${column} = ANY (ARRAY(${ids}))`;
}
