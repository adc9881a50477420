/** The tracing interface for the rest of the server. */
import type { RequestOutcome } from "./request-outcome.ts";

/** A request as a span. */
export interface RequestSpan {
  /** Runs work whose database queries, now and later, belong to this request. */
  run<T>(work: () => T): T;
  end(outcome: RequestOutcome): void;
}

export interface Tracing {
  /** @param headers as received; `traceparent` identifies the parent span */
  startRequest(method: string, headers: Readonly<Record<string, unknown>>): RequestSpan;
  /**
   * Starts the span of a query in the current request. Queries outside a request are not traced.
   *
   * @param name of the statement, never its text or its values
   * @returns a function to call when the query has ended, with its error if any
   */
  startQuery(name: string): ((error?: unknown) => void) | undefined;
  /** Flushes pending spans, for a few seconds at most. */
  close(): Promise<void>;
}
