import pg from "pg";
import { AppError } from "../app-error.ts";

/** SQLSTATE codes (PostgreSQL documentation, appendix A) that Gatehouse acts on. */
const serializationFailure = "40001";
const deadlockDetected = "40P01";
const uniqueViolation = "23505";
const foreignKeyViolation = "23503";
const undefinedTable = "42P01";
const undefinedColumn = "42703";

/** Classes and codes that say: not now. Connection trouble, resources exhausted, out of time, shutting down, starting up. */
const unavailable = /^(08|53|57014|57P0[1-5]|58|3D000|25006)/;

const networkErrors = new Set(["ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT", "EHOSTUNREACH"]);
for (const code of ["ENOTFOUND", "EAI_AGAIN", "ENETUNREACH", "ECONNABORTED"]) networkErrors.add(code);
/** Of a socket's path they mean that the server is not there; of any other file, that a setting is wrong. */
const socketErrors = new Set(["ENOENT", "EACCES"]);

/** What `pg` says, without a code, when a connection breaks or none comes free in time. */
const connectionTrouble =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed|Query read timeout|Cannot use a pool after calling end)/;

/** Whether running the transaction again may succeed. The only errors that are retried. */
export function isSerializationFailure(error: unknown): boolean {
  return error instanceof pg.DatabaseError && (error.code === serializationFailure || error.code === deadlockDetected);
}

/** Whether an error means that the database cannot be reached or cannot serve at the moment. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return unavailable.test(error.code ?? "");
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.some(isDatabaseUnavailable);
  const { code, syscall }: NodeJS.ErrnoException = error;
  if (code !== undefined && (networkErrors.has(code) || (socketErrors.has(code) && syscall === "connect"))) return true;
  return connectionTrouble.test(error.message);
}

/** Whether a table or a column that a statement names is not there: the schema is another version's. */
export function isOtherSchema(error: unknown): boolean {
  return error instanceof pg.DatabaseError && (error.code === undefinedTable || error.code === undefinedColumn);
}

/** The error that callers see while the database is away. */
export function databaseUnavailable(cause: unknown): AppError {
  return new AppError("database_unavailable", { retryAfterSeconds: 2, cause });
}

/** What a broken constraint means to the caller, by the constraint's name. Kept beside the queries that can break it. */
export type ConstraintMeanings = Readonly<Record<string, () => AppError>>;

/**
 * Runs a query, turning violations of the named constraints into what they mean.
 *
 * @throws the AppError of the constraint; any other error as it came
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
