import type pg from "pg";

/** The transactions of each connection, and the number after which its plans are discarded. */
const planAges = new WeakMap<pg.PoolClient, { transactions: number; renewedAfter: number }>();
const firstRenewal = 8;
const mostBetweenRenewals = 4_096;

/**
 * Counts a transaction of the connection. Returns whether its tables may have grown much since they were planned for.
 *
 * A connection reuses its plans, including those of foreign keys, until PostgreSQL has analyzed the tables again. For a
 * table of a few rows, all indexes that begin with the tenant cost the same. Such a plan can read all rows of the
 * tenant to find one. Plans are therefore discarded after 8, 16, 32 … transactions.
 */
export function hasOldPlans(client: pg.PoolClient): boolean {
  const age = planAges.get(client) ?? { transactions: 0, renewedAfter: firstRenewal };
  planAges.set(client, age);
  age.transactions += 1;
  if (age.transactions < age.renewedAfter) return false;
  age.renewedAfter = Math.min(2 * age.transactions, age.transactions + mostBetweenRenewals);
  return true;
}
