/** The time limit of the statements of a transaction. */
import type { Transaction } from "./database.ts";
import { statement } from "./statement.ts";

const setTimeLimit = statement<{ readonly former: string }, [limit: string]>(
  "statement_timeout.set",
  `SELECT former, set_config('statement_timeout', $1, true)
   FROM (SELECT current_setting('statement_timeout') AS former OFFSET 0) AS settings`,
);

/**
 * Limits how long each later statement of the transaction may run.
 *
 * @param limit in the format of PostgreSQL, such as `500ms`
 * @returns the former limit
 */
export function limitStatements(
  transaction: Pick<Transaction, "query">,
  limit: string,
): Promise<{ readonly former: string }[]> {
  return transaction.query(setTimeLimit, limit);
}
