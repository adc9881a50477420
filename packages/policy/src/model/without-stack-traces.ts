/** An option of V8, which the types of the language do not have. */
const errors: object & { stackTraceLimit?: number | undefined } = Error;

/** Runs a function whose errors get no stack traces. Rules absorb many errors, and traces take most of the time. */
export function withoutStackTraces<Result>(run: () => Result): Result {
  const { stackTraceLimit } = errors;
  errors.stackTraceLimit = 0;
  try {
    return run();
  } finally {
    errors.stackTraceLimit = stackTraceLimit;
  }
}
