/** The observable outcome of a request. It contains no secrets, search terms or bodies. */
export interface RequestOutcome {
  readonly requestId: string;
  readonly method: string;
  /**
   * The route template such as `/tenants/users/{id}`. Paths contain ids, and query strings can contain email
   * addresses.
   */
  readonly route: string;
  /** The status; 499 if the client disconnected before the response. */
  readonly status: number;
  readonly durationMs: number;
  /** Undefined for the operator and for unauthenticated callers. */
  readonly tenantId: string | undefined;
  /** Id of the API key, or `operator`; undefined for unauthenticated callers. */
  readonly actorId: string | undefined;
  /** The error code, if any. */
  readonly code: string | undefined;
  /** Whether the client disconnected before the end of the response. */
  readonly aborted: boolean;
}
