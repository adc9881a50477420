import pg from "pg";
import type { Connection } from "./database.ts";

/**
 * Runs `work` while no other process runs work with the same lock, in any replica. Waits for the lock without a limit.
 *
 * @param lock an arbitrary number that all replicas share
 */
export async function runExclusively<T>(connection: Connection, lock: number, work: () => Promise<T>): Promise<T> {
  const client = new pg.Client({
    ...connection,
    application_name: "gatehouse lock",
    connectionTimeoutMillis: 5_000,
  });
  // Without a listener, the "error" event of a broken connection would end the process.
  client.on("error", () => undefined);
  await client.connect();
  try {
    await client.query("SELECT pg_advisory_lock($1)", [lock]);
    return await work();
  } finally {
    await client.end();
  }
}
