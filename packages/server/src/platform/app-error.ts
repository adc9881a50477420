import { type ErrorCode, errorDefinitions } from "@gatehouse/contract/errors";
import type { ProblemField } from "@gatehouse/contract/problem";

export interface AppErrorOptions {
  /**
   * The problem with this request, including the value. Defaults to the first of `errors`. Public: contains no secrets
   * and no internals.
   */
  readonly detail?: string;
  /** The invalid fields by JSON Pointer. */
  readonly errors?: readonly ProblemField[];
  /** Seconds to wait before a retry. */
  readonly retryAfterSeconds?: number;
  /** The private cause, which is logged but never sent. */
  readonly cause?: unknown;
}

/** The most fields in one response. */
export const reportedFields = 50;

/** An error with public parts (code, detail, fields) and a private cause. `http/` converts it to problem+json. */
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

/** The problem of a field as a sentence. The message may consist of sentences already. */
export function fieldSentence({ pointer, message }: ProblemField): string {
  return `${pointer === "" ? "The body" : pointer}: ${message}${message.endsWith(".") ? "" : "."}`;
}

/** A field of the body that refers to a missing record or violates a rule. */
export function bodyField(pointer: string, message: string): ProblemField {
  return { pointer, message };
}
