import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { isUuid } from "../ids.ts";
import { columnTypes } from "./column-types.ts";
import { databaseUnavailable, isDatabaseUnavailable, isSerializationFailure } from "./database-errors.ts";
import type { Statement } from "./statement.ts";

/** The role that requests run as: owns nothing, cannot bypass row-level security. */
export const applicationRole = "gatehouse_app";

/** Where the database is: what `pg` takes. */
export type Connection = Pick<pg.ClientConfig, "connectionString" | "host" | "port" | "user" | "database" | "ssl">;

/** What a transaction may see. The settings are read by the policies in `migrations/`. */
export type Scope =
  | { readonly kind: "tenant"; readonly tenantId: string }
  /** The operator of the installation; with `tenantId`, inside that tenant too. */
  | { readonly kind: "operator"; readonly tenantId?: string }
  /** Whoever presents a key: only the key's own row. `keyHash` is in hexadecimal. */
  | { readonly kind: "presented-key"; readonly keyHash: string };

/** An open transaction. Queries are sent as they are asked for, without waiting for the ones before. */
export interface Transaction {
  query<Row, Parameters extends readonly unknown[]>(
    statement: Statement<Row, Parameters>,
    ...parameters: Parameters
  ): Promise<Row[]>;
}

export interface DatabaseOptions {
  readonly connection: Connection;
  /** Connections at most. */
  readonly poolSize: number;
  /** How long one statement may run, in milliseconds. */
  readonly statementTimeoutMs?: number;
  /** How long to wait for a free or new connection, in milliseconds. */
  readonly connectTimeoutMs?: number;
  /** Told of connections that break while idle. */
  readonly onIdleError?: (error: Error) => void;
}

const attempts = 4;

/** The one door to PostgreSQL. Everything runs in a transaction that has set its scope. */
export class Database {
  readonly #pool: pg.Pool;

  constructor(options: DatabaseOptions) {
    const settings = {
      role: applicationRole,
      timezone: "UTC",
      jit: "off",
      statement_timeout: options.statementTimeoutMs ?? 15_000,
      idle_in_transaction_session_timeout: 30_000,
    };
    this.#pool = new pg.Pool({
      ...options.connection,
      max: options.poolSize,
      pipeline: true,
      types: columnTypes,
      application_name: "gatehouse",
      options: Object.entries(settings)
        .map(([name, value]) => `-c ${name}=${value}`)
        .join(" "),
      connectionTimeoutMillis: options.connectTimeoutMs ?? 2_000,
      idleTimeoutMillis: 60_000,
      keepAlive: true,
    });
    this.#pool.on("error", (error) => options.onIdleError?.(error));
  }

  /**
   * Reads in one round trip: BEGIN, the scope, every query of `work` and COMMIT are sent together, and all queries see one
   * snapshot. `work` must therefore ask for all its queries before it first waits.
   *
   * @throws AppError database_unavailable
   */
  async snapshot<T>(scope: Scope, work: (transaction: Transaction) => Promise<T>): Promise<T> {
    const client = await this.#connect();
    let open = true;
    const transaction: Transaction = {
      query(statement, ...parameters) {
        if (!open) throw new Error("a snapshot sends all its queries at once: ask for them before the first await");
        return send(client, statement, parameters);
      },
    };
    const begun = client.query(begin("ISOLATION LEVEL REPEATABLE READ READ ONLY", scope));
    const worked = settled(work, transaction);
    open = false;
    const ended = client.query("COMMIT");
    return this.#finish(
      client,
      Promise.all([begun, worked, ended]).then((results) => results[1]),
      [begun, ended],
    );
  }

  /**
   * Changes in one transaction; a serialization failure runs `work` again, anything else rolls back and is thrown.
   *
   * @param finish asked for its queries once `work` is done; they travel together with COMMIT
   * @throws AppError database_unavailable
   */
  async transaction<T>(
    scope: Scope,
    work: (transaction: Transaction) => Promise<T>,
    finish: (transaction: Transaction, result: T) => Promise<unknown> = () => Promise.resolve(),
  ): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#attempt(scope, work, finish);
      } catch (error) {
        if (attempt === attempts || !isSerializationFailure(error)) throw error;
        await delay(Math.random() * 10 * 2 ** attempt);
      }
    }
  }

  /** Whether the database answers. */
  async ping(): Promise<void> {
    const client = await this.#connect();
    await this.#finish(client, client.query("SELECT 1"), []);
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #attempt<T>(
    scope: Scope,
    work: (transaction: Transaction) => Promise<T>,
    finish: (transaction: Transaction, result: T) => Promise<unknown>,
  ): Promise<T> {
    const client = await this.#connect();
    const transaction: Transaction = {
      query: (statement, ...parameters) => send(client, statement, parameters),
    };
    const begun = client.query(begin("", scope));
    const worked = settled(work, transaction).then(
      async (result) => {
        // A query of `finish` that fails turns this COMMIT into a rollback, so it need not be waited for.
        await Promise.all([finish(transaction, result), client.query("COMMIT")]);
        return result;
      },
      async (error: unknown) => {
        await client.query("ROLLBACK").catch(() => undefined);
        throw error;
      },
    );
    return this.#finish(
      client,
      Promise.all([begun, worked]).then((results) => results[1]),
      [begun, worked],
    );
  }

  async #connect(): Promise<pg.PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      throw isDatabaseUnavailable(error) ? databaseUnavailable(error) : error;
    }
  }

  /** Gives the connection back once everything sent on it was answered; one that broke is thrown away. */
  async #finish<T>(client: pg.PoolClient, result: Promise<T>, sent: readonly Promise<unknown>[]): Promise<T> {
    try {
      const value = await result;
      client.release();
      return value;
    } catch (error) {
      await Promise.allSettled(sent);
      const broken = isDatabaseUnavailable(error);
      client.release(broken);
      throw broken ? databaseUnavailable(error) : error;
    }
  }
}

async function send<Row, Parameters extends readonly unknown[]>(
  client: pg.PoolClient,
  statement: Statement<Row, Parameters>,
  parameters: Parameters,
): Promise<Row[]> {
  const values = [...parameters];
  const query = statement.name === undefined ? { text: statement.text, values } : { ...statement, values };
  // The statement's declaration says what its rows are.
  const result = await client.query(query as pg.QueryConfig);
  return result.rows as Row[]; // as declared by the statement
}

/** Calls `work` at once, turning what it throws synchronously into a rejection. */
function settled<T>(work: (transaction: Transaction) => Promise<T>, transaction: Transaction): Promise<T> {
  try {
    return work(transaction);
  } catch (error) {
    return Promise.reject(error);
  }
}

/** BEGIN and the scope as one message. What is put into the text is checked to be hexadecimal digits and dashes. */
function begin(mode: string, scope: Scope): string {
  const settings: string[] = [];
  if (scope.kind === "presented-key") {
    if (!/^[0-9a-f]{64}$/.test(scope.keyHash)) throw new Error("a key hash is 64 hexadecimal digits");
    settings.push(`SET LOCAL app.presented_key_hash = '${scope.keyHash}'`);
  } else {
    if (scope.kind === "operator") settings.push("SET LOCAL app.operator = 'on'");
    if (scope.tenantId !== undefined) {
      if (!isUuid(scope.tenantId)) throw new Error("a tenant's id is a UUID");
      settings.push(`SET LOCAL app.tenant_id = '${scope.tenantId}'`);
    }
  }
  return [`BEGIN ${mode}`, ...settings].join("; ");
}
