/** Sends statements on a connection that the pool lent to a transaction. */
import type { Duplex } from "node:stream";
import pg from "pg";
import type { Statement } from "./statement.ts";

export type QueryObserver = (name: string) => ((error?: unknown) => void) | undefined;

/** A connection, and the function that returns it to the pool. */
export interface Lent {
  readonly client: pg.PoolClient;
  readonly release: (broken: boolean) => void;
  /** Whether the last statement got no answer, so that nothing else can use the connection. */
  isLost: boolean;
}

export interface Sending {
  readonly timeoutMs?: number;
  readonly onQuery: QueryObserver | undefined;
}

export async function send<Row, Parameters extends readonly unknown[]>(
  client: pg.PoolClient,
  statement: Statement<Row, Parameters>,
  parameters: Parameters,
  { timeoutMs, onQuery }: Sending,
): Promise<Row[]> {
  const values = [...parameters];
  const { name, text } = statement;
  const query: pg.QueryConfig = name === undefined ? { text, values } : { name, text, values };
  const answered = onQuery?.(name ?? "list");
  writeTogether(client);
  try {
    const result = await client.query(timeoutMs === undefined ? query : timed(query, timeoutMs));
    answered?.();
    return result.rows as Row[]; // the statement declares the type
  } catch (error) {
    answered?.(error);
    throw error;
  }
}

/** Sends the statement that ends a transaction. */
export function sendLast(lent: Lent, text: string, timeoutMs: number): Promise<pg.QueryResult> {
  const ended = lent.client.query(timed({ text }, timeoutMs));
  ended.catch((error: unknown) => {
    lent.isLost = !(error instanceof pg.DatabaseError);
  });
  return ended;
}

/** A query whose connection is dropped after a time limit. `pg` accepts the limit, although its types omit it. */
export function timed(query: pg.QueryConfig, timeoutMs: number): pg.QueryConfig {
  return Object.assign(query, { query_timeout: timeoutMs });
}

/** The client's connection, which the package's types omit. */
export function wireOf(client: pg.ClientBase): { readonly stream: Duplex } {
  return (client as unknown as { readonly connection: { readonly stream: Duplex } }).connection;
}

/** Clients whose messages wait for the end of the turn. */
const gathering = new WeakSet<pg.PoolClient>();

/**
 * Sends everything that the rest of this turn of the event loop writes to the connection in one write. Each write is a
 * system call and wakes PostgreSQL, which costs more than most statements.
 */
export function writeTogether(client: pg.PoolClient): void {
  if (gathering.has(client)) return;
  gathering.add(client);
  const { stream } = wireOf(client);
  stream.cork();
  // Runs after all promise callbacks of this turn.
  process.nextTick(() => {
    gathering.delete(client);
    stream.uncork();
  });
}
