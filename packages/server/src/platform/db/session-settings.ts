/**
 * Settings of database connections. They are set with SQL after connecting, because poolers reject or ignore startup
 * parameters, and are verified, because the tenants' isolation depends on the role.
 */
import pg from "pg";
import { StartError } from "../start-error.ts";

export interface SessionSettings {
  readonly role: string;
  /** Time limits in milliseconds. */
  readonly statement_timeout: number;
  readonly idle_in_transaction_session_timeout: number;
}

type Session = Pick<pg.ClientBase, "query">;

/**
 * Returns the function that prepares a new connection.
 *
 * @throws the function: if a setting does not take effect; then the connection must not be used
 */
export function sessionPreparation(settings: SessionSettings): (client: Session) => Promise<void> {
  const { role, statement_timeout: statement, idle_in_transaction_session_timeout: idle } = settings;
  const preparation = [
    `SET ROLE ${role}`,
    "SET timezone = 'UTC'",
    "SET jit = off",
    // On solid-state drives, random reads cost nearly the same as sequential reads. The default of 4 makes index scans
    // look too expensive.
    "SET random_page_cost = 1.1",
    `SET statement_timeout = ${statement}`,
    `SET idle_in_transaction_session_timeout = ${idle}`,
  ].join("; ");
  // A time limit is shown in the largest unit that fits. pg_settings shows milliseconds, but reads all settings.
  const limit = (name: string) => `(extract(epoch FROM current_setting('${name}')::interval) * 1000)::bigint::text`;
  const check = `SELECT current_user AS role, current_setting('timezone') AS zone,
    ${limit("statement_timeout")} AS statement, ${limit("idle_in_transaction_session_timeout")} AS idle`;
  return async (client) => {
    await client.query(preparation);
    const { rows } = await client.query<Record<string, string>>(check);
    const expected: Readonly<Record<string, string>> = {
      role,
      zone: "UTC",
      statement: String(statement),
      idle: String(idle),
    };
    const wrong = Object.keys(expected).filter((name) => rows[0]?.[name] !== expected[name]);
    if (wrong.length > 0) throw new Error(`the database connection did not take its settings: ${wrong.join(", ")}`);
  };
}

/** How often the connections are compared. */
const comparisons = 3;

/**
 * Checks that each connection has its own session at the server. A pooler in transaction mode gives the same
 * session to several connections, so that roles, time limits, prepared statements and locks would mix.
 *
 * @throws StartError; errors of the connection
 */
export async function requireOwnSessions(connection: pg.ClientConfig): Promise<void> {
  const clients = [0, 1].map(
    () => new pg.Client({ ...connection, application_name: "gatehouse start", connectionTimeoutMillis: 5_000 }),
  );
  const seen = clients.map(() => new Set<number>());
  try {
    for (const client of clients) {
      // A broken connection also fails the running query.
      client.on("error", () => undefined);
      await client.connect();
    }
    for (let comparison = 0; comparison < comparisons; comparison += 1) {
      for (const [index, client] of clients.entries()) {
        const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
        for (const { pid } of rows) seen[index]?.add(pid);
      }
    }
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
  }
  if (new Set(seen.flatMap((pids) => [...pids])).size === clients.length) return;
  throw new StartError(
    "The connection pooler in front of the database gives several connections the same session.",
    "Set pool_mode = session in the pooler, or connect to the database directly. Roles, prepared statements, notifications and locks belong to a session.",
  );
}
