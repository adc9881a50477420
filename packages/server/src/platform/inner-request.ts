/** Requests inside a request, such as those of a change set. */

/** The method and the path of a request as a client would send them. */
export interface RequestTarget {
  readonly method: string;
  readonly path: string;
}

/** A validated request inside a request. */
export interface CheckedRequest {
  readonly parameters: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly ifMatch?: string | undefined;
}
