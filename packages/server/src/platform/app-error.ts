import { type ErrorCode, errorDefinitions } from "@gatehouse/contract/errors";
import type { ProblemField } from "@gatehouse/contract/problem";

export interface AppErrorOptions {
  /**
   * What was wrong this time, with which value; the first of `errors` where absent. The public face: never a secret, never
   * an internal.
   */
  readonly detail?: string;
  /** The fields concerned, by JSON Pointer. */
  readonly errors?: readonly ProblemField[];
  /** After how many seconds trying again makes sense. */
  readonly retryAfterSeconds?: number;
  /** The private side: logged, never answered. */
  readonly cause?: unknown;
}

/** Fields that one answer lists at most. */
export const reportedFields = 50;

/** An error with a public face (code, detail, fields) and a private cause. `http/` turns it into problem+json. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly detail: string;
  readonly errors: readonly ProblemField[] | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ErrorCode, options: AppErrorOptions = {}) {
    const [first] = options.errors ?? [];
    const detail = options.detail ?? (first === undefined ? errorDefinitions[code].explanation : fieldSentence(first));
    super(`${code}: ${detail}`, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "AppError";
    this.code = code;
    this.detail = detail;
    this.errors = options.errors?.slice(0, reportedFields);
    this.retryAfterSeconds = options.retryAfterSeconds;
  }

  get status(): number {
    return errorDefinitions[this.code].status;
  }
}

/** What is wrong with a field, as a sentence. Its message may be one or more already. */
export function fieldSentence({ pointer, message }: ProblemField): string {
  return `${pointer === "" ? "The body" : pointer}: ${message}${message.endsWith(".") ? "" : "."}`;
}

/** A field of the body that refers to nothing, or breaks a rule. */
export function bodyField(pointer: string, message: string): ProblemField {
  return { pointer, message };
}
