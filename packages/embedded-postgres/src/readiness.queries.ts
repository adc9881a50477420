import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";

/** Connection options of `pg.Client`. */
export interface ServerConnection {
  /** Folder of the unix socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
}

export type Readiness = { readonly ready: true } | { readonly ready: false; readonly reason: string };

const pollMs = 25;
/** A server that does not respond at all within this time will not respond. */
const silenceTimeoutMs = 30_000;
/** After a crash, the server first replays its log, and responds that it is starting up. */
const recoveryTimeoutMs = 15 * 60_000;
const cannotConnectNow = "57P03";
const duplicateDatabase = "42P04";

/**
 * Waits until the server accepts connections, and creates Gatehouse's database if it does not exist.
 *
 * @param stopped aborted if the server ended or is being stopped, so that waiting is pointless
 */
export async function waitUntilReady(connection: ServerConnection, stopped: AbortSignal): Promise<Readiness> {
  const started = performance.now();
  let lastAnswer = started;
  let reason = "it was stopped";
  while (!stopped.aborted) {
    try {
      await ensureDatabase(connection);
      return { ready: true };
    } catch (error) {
      reason = error instanceof Error ? error.message : String(error);
      const now = performance.now();
      if (error instanceof pg.DatabaseError) {
        if (error.code !== cannotConnectNow) return { ready: false, reason };
        lastAnswer = now;
      }
      if (now - lastAnswer > silenceTimeoutMs || now - started > recoveryTimeoutMs) return { ready: false, reason };
    }
    await pause(pollMs, undefined, { signal: stopped }).catch(() => {}); // aborted: the loop ends
  }
  return { ready: false, reason };
}

async function ensureDatabase(connection: ServerConnection): Promise<void> {
  const client = new pg.Client({ ...connection, database: "postgres", ssl: false, connectionTimeoutMillis: 5_000 });
  client.on("error", () => {}); // a connection that breaks also fails the query below
  try {
    await client.connect();
    const found = await client.query("select 1 from pg_catalog.pg_database where datname = $1", [connection.database]);
    if (found.rowCount === 0) await client.query(`create database ${client.escapeIdentifier(connection.database)}`);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== duplicateDatabase) throw error;
  } finally {
    await client.end().catch(() => {}); // already broken
  }
}
