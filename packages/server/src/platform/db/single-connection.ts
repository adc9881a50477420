import pg from "pg";
import type { Connection } from "./database.ts";

/** Runs `work` on a connection of its own, as the owner of the database and without time limits of statements. */
export async function withSingleConnection<T>(
  connection: Connection,
  name: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ ...connection, application_name: name, connectionTimeoutMillis: 5_000 });
  // A broken connection also fails the running query. Without a listener, its "error" event would end the process.
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
