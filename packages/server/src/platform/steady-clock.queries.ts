/** The stored observations of the clock. Operator scope. */
import type { Transaction } from "./db/database.ts";
import { statement } from "./db/statement.ts";

/** A period in which the clocks of the servers ran without a jump. All times are in milliseconds. */
export interface SteadyPeriod {
  /** When the period began, since 1970. */
  readonly since: number;
  /** How long servers ran in it, by their monotonic clocks. */
  readonly ranMs: number;
  /** The latest time of an observation, since 1970. */
  readonly seenAt: number;
}

const lockPeriod = statement<{ value: Buffer }, []>(
  "steady_clock.lock",
  "SELECT value FROM installation WHERE name = 'steady-clock' FOR UPDATE",
);
const upsertPeriod = statement<never, [value: Buffer]>(
  "steady_clock.store",
  `INSERT INTO installation (name, value) VALUES ('steady-clock', $1)
   ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
);

/** Locks the period until the transaction ends. */
export async function lockSteadyPeriod(tx: Transaction): Promise<SteadyPeriod | undefined> {
  const [row] = await tx.query(lockPeriod);
  return row === undefined ? undefined : (JSON.parse(row.value.toString()) as SteadyPeriod); // as stored below
}

export async function storeSteadyPeriod(tx: Transaction, period: SteadyPeriod): Promise<void> {
  await tx.query(upsertPeriod, Buffer.from(JSON.stringify(period)));
}
