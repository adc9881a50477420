import pg from "pg";
import { AppError } from "../app-error.ts";
import { ReplacedMasterKeyError } from "./announced-master-key.ts";

/** SQLSTATE codes (PostgreSQL documentation, appendix A) that Gatehouse acts on. */
const serializationFailure = "40001";
const deadlockDetected = "40P01";
const uniqueViolation = "23505";
const foreignKeyViolation = "23503";
const undefinedTable = "42P01";
const diskFull = "53100";
const readOnlyTransaction = "25006";
const failedTransaction = "25P02";
/** Characters that the database's encoding cannot represent, such as NUL. */
const unstorableText = new Set(["22021", "22P05"]);
const undefinedColumn = "42703";
const queryCanceled = "57014";
const lockNotAvailable = "55P03";

/**
 * Classes and codes of temporary failures: connection problems, exhausted resources, timeouts, shutdown and startup.
 */
const unavailable = /^(08|53|57014|57P0[1-5]|58|3D000|25006|25P02)/;

const networkErrors = new Set(["ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT", "EHOSTUNREACH"]);
for (const code of ["ENOTFOUND", "EAI_AGAIN", "ENETUNREACH", "ECONNABORTED"]) networkErrors.add(code);
/**
 * File errors that, for a socket's path, mean that the server is not running. For any other file, a setting is wrong.
 */
const socketErrors = new Set(["ENOENT", "EACCES"]);

/** Messages of `pg`, which have no code, for a broken connection or for none that becomes free in time. */
const connectionTrouble =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed|Query read timeout|Cannot use a pool after calling end)/;
const noFreeConnection = "timeout exceeded when trying to connect";
/** The message of `pg` for a query without an answer. The timeout includes earlier queries of the transaction. */
const lateAnswer = /^Query read timeout/;

/** No connection of a tenant's share became free in time. */
export class TenantShareError extends Error {
  constructor() {
    super("the tenant's share of the connections is exhausted");
    this.name = "TenantShareError";
  }
}

/** All connections are open, and in use for too long. The database itself is reachable. */
export class BusyPoolError extends Error {
  constructor() {
    super("all connections are in use");
    this.name = "BusyPoolError";
  }
}

/** The connection failed before it answered COMMIT, so the transaction may have committed. */
export class LostCommitError extends Error {
  constructor(cause: unknown) {
    super("the connection failed before it answered COMMIT", { cause });
    this.name = "LostCommitError";
  }
}

/** Whether no connection of the pool became free in time. */
export function isNoFreeConnection(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith(noFreeConnection);
}

/** Whether a retry of the transaction may succeed. Only these errors are retried. */
export function isSerializationFailure(error: unknown): boolean {
  return error instanceof pg.DatabaseError && (error.code === serializationFailure || error.code === deadlockDetected);
}

/** Whether an error means that the database is unreachable or temporarily unable to serve. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return unavailable.test(error.code ?? "");
  if (!(error instanceof Error)) return false;
  if (error instanceof ReplacedMasterKeyError || error instanceof LostCommitError) return true;
  if (isBusyConnection(error)) return true;
  if (error instanceof AggregateError) return error.errors.some(isDatabaseUnavailable);
  const { code, syscall }: NodeJS.ErrnoException = error;
  if (code !== undefined && (networkErrors.has(code) || (socketErrors.has(code) && syscall === "connect"))) return true;
  return connectionTrouble.test(error.message);
}

/** Whether no connection became free in time, although the database answers. */
export function isBusyConnection(error: unknown): boolean {
  return error instanceof TenantShareError || error instanceof BusyPoolError;
}

/** Whether a wait for a lock, or for the answer to a query, timed out. */
export function isLockTimeout(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return error.code === lockNotAvailable || error.code === queryCanceled;
  return error instanceof Error && lateAnswer.test(error.message);
}

/** Whether the database cannot write: its disk is full, or it is read-only. */
export function isUnwritable(error: unknown): boolean {
  if (error instanceof AppError) return isUnwritable(error.cause);
  return error instanceof pg.DatabaseError && (error.code === diskFull || error.code === readOnlyTransaction);
}

/** Whether a statement reached its time limit. */
export function isStatementTimeout(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === queryCanceled;
}

/** Whether a statement was refused only because an earlier statement of its transaction had failed. */
export function isConsequence(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === failedTransaction;
}

/** Whether a value contains text that the database cannot store. */
export function isUnstorableText(error: unknown): boolean {
  return error instanceof pg.DatabaseError && unstorableText.has(error.code ?? "");
}

/** Whether a statement names a missing table or column, because the schema belongs to another version. */
export function isOtherSchema(error: unknown): boolean {
  return error instanceof pg.DatabaseError && (error.code === undefinedTable || error.code === undefinedColumn);
}

const unwritableDetails: Readonly<Record<string, string>> = {
  [diskFull]: "The database has no disk space left. Nothing was changed.",
  [readOnlyTransaction]: "The database is read-only. Nothing was changed.",
};

const replacedKeyDetail =
  "This server has an outdated master key. It does not use the database until it has the current one.";

/** The error that callers get while the database is unavailable. */
export function databaseUnavailable(cause: unknown): AppError {
  const code = cause instanceof pg.DatabaseError ? cause.code : undefined;
  const unwritable = code === undefined ? undefined : unwritableDetails[code];
  const detail = cause instanceof ReplacedMasterKeyError ? replacedKeyDetail : unwritable;
  return new AppError("database_unavailable", { retryAfterSeconds: 2, cause, ...(detail && { detail }) });
}

/** The errors for violated constraints, by the constraint's name. Declared beside the queries that can violate them. */
export type ConstraintMeanings = Readonly<Record<string, () => AppError>>;

/**
 * Runs a query and converts violations of the named constraints to their errors.
 *
 * @throws the AppError of the constraint; any other error unchanged
 */
export async function withConstraints<T>(meanings: ConstraintMeanings, query: Promise<T>): Promise<T> {
  try {
    return await query;
  } catch (error) {
    if (error instanceof pg.DatabaseError && (error.code === uniqueViolation || error.code === foreignKeyViolation)) {
      const meaning = error.constraint === undefined ? undefined : meanings[error.constraint];
      if (meaning !== undefined) throw meaning();
    }
    throw error;
  }
}
