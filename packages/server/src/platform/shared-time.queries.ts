import type { Transaction } from "./db/database.ts";
import { statement } from "./db/statement.ts";

const selectTime = statement<{ at: string }, []>("shared_time.read", "SELECT clock_timestamp() AS at");

/** The time of the database's clock, in milliseconds since 1970. */
export async function readDatabaseClock(tx: Transaction): Promise<number> {
  return Date.parse((await tx.query(selectTime))[0]?.at ?? "");
}
