import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { announceMasterKey } from "./announced-master-key.ts";
import { BackgroundConnections } from "./background-connections.ts";
import { columnTypes } from "./column-types.ts";
import {
  BusyPoolError,
  databaseUnavailable,
  isConsequence,
  isDatabaseUnavailable,
  isNoFreeConnection,
  isSerializationFailure,
  isUnwritable,
  LostCommitError,
} from "./database-errors.ts";
import {
  type Lent,
  type QueryObserver,
  type Sending,
  send,
  sendLast,
  timed,
  wireOf,
  writeTogether,
} from "./lent-connection.ts";
import { hasOldPlans } from "./old-plans.ts";
import { PausedStatements, type Pauses } from "./paused-statements.ts";
import { readInTurns } from "./read-in-turns.ts";
import { begin, type Scope, statementLimitMs } from "./scope.ts";
import { sessionPreparation } from "./session-settings.ts";
import type { Statement } from "./statement.ts";
import { TenantShares } from "./tenant-shares.ts";

/** The role for requests. It owns nothing and cannot bypass row-level security. */
export const applicationRole = "gatehouse_app";

/** The connection settings of the database, as `pg` takes them. */
export type Connection = Pick<
  pg.ClientConfig,
  "connectionString" | "host" | "port" | "user" | "database" | "ssl" | "stream"
>;

/** An open transaction. Each query is sent at once, without waiting for the previous ones. */
export interface Transaction {
  query<Row, Parameters extends readonly unknown[]>(
    statement: Statement<Row, Parameters>,
    ...parameters: Parameters
  ): Promise<Row[]>;
}

export interface DatabaseOptions {
  readonly connection: Connection;
  /** The most connections. */
  readonly poolSize: number;
  /** The key that secrets are encrypted with, which each connection announces; undefined if nothing is encrypted. */
  readonly masterKey?: Buffer | undefined;
  /** How long one statement may run before the server cancels it, in milliseconds. */
  readonly statementTimeoutMs?: number;
  /** How long to wait for an answer before the connection counts as hung and is dropped, in milliseconds. */
  readonly answerTimeoutMs?: number;
  /** How long to wait for a free or new connection, in milliseconds. */
  readonly connectTimeoutMs?: number;
  /**
   * Called for each query with the name of its statement. The returned function is called when the query is answered.
   */
  readonly onQuery?: QueryObserver | undefined;
  /** Called for connections that break while idle. */
  readonly onIdleError?: (error: Error) => void;
  /** Called when a tenant gets a connection. */
  readonly onUse?: StartUse | undefined;
}

/**
 * Starts to measure the use of a connection by a tenant.
 *
 * @returns ends the measurement. `pausedMs` is the time in which the tenant did not use the connection
 */
export type StartUse = (tenantId: string) => (pausedMs: number) => void;

const attempts = 4;
const defaultConnectTimeoutMs = 2_000;
const defaultStatementTimeoutMs = 15_000;
/** The time by which the server's limit precedes the client's, in milliseconds, because its error is more specific. */
const answerMarginMs = 1_000;
/** A health check fails after this time, in milliseconds. */
const pingTimeoutMs = 2_000;
/** How long closing waits for open transactions, in milliseconds. */
const closingMs = 2_000;

/** The only access to PostgreSQL. Everything runs in a transaction that has set its scope. */
export class Database {
  readonly #pool: pg.Pool;
  readonly #poolSize: number;
  /** The connections that are open. */
  readonly #open = new Set<pg.ClientBase>();
  readonly #shares: TenantShares;
  readonly #background: BackgroundConnections;
  readonly #answerTimeoutMs: number;
  readonly #onQuery: QueryObserver | undefined;
  readonly #onUse: StartUse | undefined;
  #writesFail = false;

  constructor(options: DatabaseOptions) {
    const { statementTimeoutMs = defaultStatementTimeoutMs, connectTimeoutMs = defaultConnectTimeoutMs } = options;
    const { masterKey } = options;
    this.#answerTimeoutMs = options.answerTimeoutMs ?? statementTimeoutMs + answerMarginMs;
    this.#onQuery = options.onQuery;
    this.#onUse = options.onUse;
    this.#poolSize = options.poolSize;
    this.#shares = new TenantShares(options.poolSize, connectTimeoutMs);
    this.#background = new BackgroundConnections(options.poolSize, connectTimeoutMs);
    const prepare = sessionPreparation({
      role: applicationRole,
      statement_timeout: statementTimeoutMs,
      idle_in_transaction_session_timeout: 30_000,
    });
    this.#pool = new pg.Pool({
      ...options.connection,
      max: options.poolSize,
      pipeline: true,
      types: columnTypes,
      application_name: masterKey === undefined ? "gatehouse command" : "gatehouse",
      // The pool awaits the promise before it lends the connection, although its types omit it.
      onConnect: async (client: pg.ClientBase) => {
        await prepare(client);
        if (masterKey !== undefined) await announceMasterKey(client, masterKey);
      },
      connectionTimeoutMillis: connectTimeoutMs,
      idleTimeoutMillis: 60_000,
      keepAlive: true,
    });
    this.#pool.on("error", (error) => options.onIdleError?.(error));
    this.#pool.on("remove", (client) => this.#open.delete(client));
    // The pool listens for errors only while a connection is idle. A connection that breaks in use also fails its
    // queries, which report the error. Without a listener, an "error" event would end the process.
    this.#pool.on("connect", (client) => {
      this.#open.add(client);
      client.on("error", () => undefined);
      readInTurns(wireOf(client).stream);
    });
  }

  /**
   * Reads in one round trip. BEGIN, the scope, every query of `work` and COMMIT are sent together, and all queries see
   * one snapshot. Therefore `work` must start all of its queries before it first waits.
   *
   * @param pauses of the request; while they are due, the queries are sent one at a time
   * @throws AppError database_unavailable
   */
  async snapshot<T>(scope: Scope, work: (transaction: Transaction) => Promise<T>, pauses?: Pauses): Promise<T> {
    if (pauses?.areDue === true) return this.readThrough(scope, work, pauses);
    const beginning = begin("ISOLATION LEVEL REPEATABLE READ READ ONLY", scope);
    const lent = await this.#connect(scope);
    const { client, release } = lent;
    const onQuery = this.#onQuery;
    let open = true;
    const transaction: Transaction = {
      query(statement, ...parameters) {
        if (!open) throw new Error("a snapshot sends all its queries at once: ask for them before the first await");
        return send(client, statement, parameters, { onQuery });
      },
    };
    const { stream } = wireOf(client);
    // Sends everything in one write to the socket. Each write costs about as much as PostgreSQL needs to find a row.
    stream.cork();
    const begun = client.query(beginning);
    const worked = settled(work, transaction);
    open = false;
    // Everything was sent, so the time limit of the last answer bounds the whole.
    const ended = sendLast(lent, "COMMIT", this.#answerTimeoutMs);
    stream.uncork();
    return this.#finish(
      release,
      Promise.all([begun, worked, ended]).then((results) => results[1]),
      [begun, ended],
    );
  }

  /**
   * Runs a single statement, which is its own transaction and sets its own scope. It serves queries that nearly every
   * request needs, for which BEGIN and COMMIT would cost more than the query. A statement that does not set the scope
   * sees no rows.
   *
   * @throws AppError database_unavailable
   */
  async ask<Row, Parameters extends readonly unknown[]>(
    statement: Statement<Row, Parameters>,
    ...parameters: Parameters
  ): Promise<Row[]> {
    const { client, release } = await this.#connect(undefined);
    return this.#finish(release, send(client, statement, parameters, this.#sending), []);
  }

  /**
   * Makes changes in one transaction. A serialization failure runs `work` again. Any other error rolls back and is
   * thrown.
   *
   * @param finish starts its queries at once after `work`; they are sent together with COMMIT
   * @param pauses of the request, between the queries of `work`
   * @throws AppError database_unavailable
   */
  async transaction<T>(
    scope: Scope,
    work: (transaction: Transaction) => Promise<T>,
    finish: (transaction: Transaction, result: T) => Promise<unknown> = () => Promise.resolve(),
    pauses?: Pauses,
  ): Promise<T> {
    return this.#repeated(() => this.#attempt(scope, work, { finish, pauses }));
  }

  /**
   * Runs `work` like `transaction`, but always rolls back at the end.
   *
   * @throws AppError database_unavailable
   */
  async dryRun<T>(scope: Scope, work: (transaction: Transaction) => Promise<T>, pauses?: Pauses): Promise<T> {
    return this.#repeated(() => this.#attempt(scope, work, { ending: "ROLLBACK", pauses }));
  }

  /** Retries a transaction after a serialization failure. */
  async #repeated<T>(transaction: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await transaction();
      } catch (error) {
        if (!isSerializationFailure(error)) throw error;
        if (attempt === attempts) throw databaseUnavailable(error);
        await delay(Math.random() * 10 * 2 ** attempt);
      }
    }
  }

  /** The numbers of all connections, of idle ones, and of transactions that wait for one. */
  get poolState(): { readonly size: number; readonly idle: number; readonly waiting: number } {
    const { totalCount: size, idleCount: idle, waitingCount: waiting } = this.#pool;
    return { size, idle, waiting };
  }

  /**
   * Reads one snapshot with any number of consecutive queries. Each has its own time limit. It holds a connection and
   * old row versions until the end, so it is for commands at a terminal and for loading whole tenants.
   *
   * @throws AppError database_unavailable
   */
  async readThrough<T>(scope: Scope, work: (transaction: Transaction) => Promise<T>, pauses?: Pauses): Promise<T> {
    return this.#attempt(scope, work, { mode: "ISOLATION LEVEL REPEATABLE READ READ ONLY", pauses });
  }

  /** Whether the latest transaction that tried to write failed because the database cannot write. */
  get writesFail(): boolean {
    return this.#writesFail;
  }

  /** Checks that the database answers. */
  async ping(): Promise<void> {
    const { client, release } = await this.#connect(undefined);
    await this.#finish(release, client.query(timed({ text: "SELECT 1" }, pingTimeoutMs)), []);
  }

  /** Closes all connections, including those of transactions that do not end soon. */
  async close(): Promise<void> {
    const interrupt = () => {
      for (const client of this.#open) wireOf(client).stream.destroy();
    };
    const timer = setTimeout(interrupt, closingMs);
    try {
      await this.#pool.end();
    } finally {
      clearTimeout(timer);
    }
  }

  get #sending(): Sending {
    return { timeoutMs: this.#answerTimeoutMs, onQuery: this.#onQuery };
  }

  /** How long to wait for an answer in a scope, in milliseconds. */
  #answerLimitMs(scope: Scope): number {
    const limitMs = statementLimitMs(scope);
    return limitMs === undefined ? this.#answerTimeoutMs : Math.max(this.#answerTimeoutMs, limitMs + answerMarginMs);
  }

  async #attempt<T>(
    scope: Scope,
    work: (transaction: Transaction) => Promise<T>,
    { finish = () => Promise.resolve(), ending = "COMMIT", mode = "", pauses }: TransactionForm<T>,
  ): Promise<T> {
    const beginning = begin(mode, scope);
    const lent = await this.#connect(scope, pauses);
    const { client, release } = lent;
    writeTogether(client);
    const text = hasOldPlans(client) ? `${beginning}; DISCARD PLANS` : beginning;
    const timeoutMs = this.#answerLimitMs(scope);
    const begun = client.query(timed({ text }, timeoutMs));
    const worked = this.#perform(lent, work, { finish, ending, pauses, timeoutMs });
    return this.#finish(
      release,
      Promise.all([begun, worked]).then((results) => results[1]),
      [begun, worked],
    );
  }

  async #perform<T>(
    lent: Lent,
    work: (transaction: Transaction) => Promise<T>,
    form: Pick<Required<TransactionForm<T>>, "finish" | "ending" | "pauses"> & { readonly timeoutMs: number },
  ): Promise<T> {
    const { finish, ending, pauses, timeoutMs } = form;
    const { client } = lent;
    const sending = { ...this.#sending, timeoutMs };
    let firstError: unknown;
    const statements = new PausedStatements(pauses);
    const query: Transaction["query"] = (statement, ...parameters) => {
      const answer = send(client, statement, parameters, sending);
      answer.catch((error: unknown) => {
        firstError ??= error;
      });
      return answer;
    };
    let ended: Promise<pg.QueryResult> | undefined;
    try {
      const result = await work({
        query: (statement, ...parameters) => statements.send(() => query(statement, ...parameters)),
      });
      statements.requireAllSent();
      const finished = finish({ query }, result);
      writeTogether(client);
      // A failed query of `finish` turns this COMMIT into a rollback, so the queries need not be awaited first.
      ended = sendLast(lent, ending, timeoutMs);
      const [, { command }] = await Promise.all([finished, ended]);
      // PostgreSQL answers COMMIT with ROLLBACK if a query failed, even if `work` swallowed the error.
      if (command !== ending) throw new Error(`the transaction ended in ${command}: one of its queries had failed`);
      this.#writesFail = false;
      return result;
    } catch (error) {
      statements.close();
      await (ended ?? sendLast(lent, "ROLLBACK", timeoutMs)).catch(() => undefined);
      // Queries are sent without waiting, so the error that is noticed first may only be a consequence.
      const cause = isConsequence(error) ? (firstError ?? error) : error;
      if (isUnwritable(cause)) this.#writesFail = true;
      const isRefused = cause instanceof pg.DatabaseError || isDatabaseUnavailable(cause);
      // Other errors than database_unavailable deny that anything was changed.
      throw ended === undefined || !lent.isLost || isRefused ? cause : new LostCommitError(cause);
    }
  }

  /**
   * @param scope a tenant's scope is limited to its share of the connections; undefined for a single short statement
   * @param pauses during which the tenant does not use the connection
   */
  async #connect(scope: Scope | undefined, pauses?: Pauses): Promise<Lent> {
    const tenantId = scope?.kind === "tenant" ? scope.tenantId : undefined;
    const waitMs = scope !== undefined && "waitMs" in scope ? scope.waitMs : undefined;
    const leave: (() => void)[] = [];
    const leaveAll = () => {
      for (const leaveOne of leave.splice(0)) leaveOne();
    };
    try {
      if (waitMs !== undefined) leave.push(await this.#background.enter(waitMs));
      if (tenantId !== undefined) {
        const turn = this.#shares.enter(tenantId, waitMs);
        if (turn !== undefined) await turn;
        leave.push(() => this.#shares.leave(tenantId));
      }
      const client = await this.#pool.connect();
      const endUse = tenantId === undefined ? undefined : this.#onUse?.(tenantId);
      const pausedBefore = pauses?.pausedMs ?? 0;
      const release = (broken: boolean) => {
        client.release(broken || lent.isLost);
        leaveAll();
        // The pause after the last statement of an earlier transaction can end during this one.
        endUse?.((pauses?.pausedMs ?? 0) - pausedBefore);
      };
      const lent: Lent = { client, release, isLost: false };
      return lent;
    } catch (error) {
      leaveAll();
      if (isNoFreeConnection(error) && this.#open.size >= this.#poolSize)
        throw databaseUnavailable(new BusyPoolError());
      throw isDatabaseUnavailable(error) ? databaseUnavailable(error) : error;
    }
  }

  /** Returns the connection to the pool after everything sent on it was answered. A broken connection is discarded. */
  async #finish<T>(release: Lent["release"], result: Promise<T>, sent: readonly Promise<unknown>[]): Promise<T> {
    try {
      const value = await result;
      release(false);
      return value;
    } catch (error) {
      await Promise.allSettled(sent);
      const broken = isDatabaseUnavailable(error);
      release(broken);
      throw broken ? databaseUnavailable(error) : error;
    }
  }
}

interface TransactionForm<T> {
  readonly finish?: (transaction: Transaction, result: T) => Promise<unknown>;
  /** The last statement after success. */
  readonly ending?: "COMMIT" | "ROLLBACK";
  readonly mode?: string;
  readonly pauses?: Pauses | undefined;
}

/** Calls `work` at once and converts a synchronous exception to a rejection. */
function settled<T>(work: (transaction: Transaction) => Promise<T>, transaction: Transaction): Promise<T> {
  try {
    return work(transaction);
  } catch (error) {
    return Promise.reject(error);
  }
}
