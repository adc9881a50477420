/** Tracing as the rest of the server sees it. */
import type { RequestOutcome } from "./request-outcome.ts";

/** A request as a span. */
export interface RequestSpan {
  /** What `work` asks of the database, now and later, belongs to this request. */
  run<T>(work: () => T): T;
  end(outcome: RequestOutcome): void;
}

export interface Tracing {
  /** @param headers as received: `traceparent` says what the request is part of */
  startRequest(method: string, headers: Readonly<Record<string, unknown>>): RequestSpan;
  /**
   * A query of the request that runs at present; of none, it is not traced.
   *
   * @param name the statement's, never its text or its values
   * @returns what to call when it is answered, with the error if there was one
   */
  startQuery(name: string): ((error?: unknown) => void) | undefined;
  /** Sends what was not sent yet, for a few seconds at most. */
  close(): Promise<void>;
}
