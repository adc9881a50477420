import type { Connection } from "./database.ts";
import { withSingleConnection } from "./single-connection.ts";

/**
 * Runs `work` while no other process runs work with the same lock, in any replica. Waits for the lock without a limit.
 *
 * @param lock an arbitrary number that all replicas share
 */
export async function runExclusively<T>(connection: Connection, lock: number, work: () => Promise<T>): Promise<T> {
  return withSingleConnection(connection, "gatehouse lock", async (client) => {
    await client.query("SELECT pg_advisory_lock($1)", [lock]);
    return work();
  });
}
