/** What is told of a request once it is over. Nothing in it is a secret, and nothing is what somebody searched for or sent. */
export interface RequestOutcome {
  readonly requestId: string;
  readonly method: string;
  /** The template, `/tenants/users/{id}`: a path holds ids, and a query string may hold e-mail addresses. */
  readonly route: string;
  /** 499 where the caller left before there was an answer. */
  readonly status: number;
  readonly durationMs: number;
  /** Undefined for the operator, and for callers who proved nothing. */
  readonly tenantId: string | undefined;
  /** The API key's id, or `operator`; undefined for callers who proved nothing. */
  readonly actorId: string | undefined;
  /** The error's code, where there was one. */
  readonly code: string | undefined;
  /** Whether the caller left before it had the whole answer. */
  readonly aborted: boolean;
}
