/**
 * An error of the API: `explanation` says when it happens and `remedy` what to do about it; the pages under `docs/errors/` and at
 * `/errors/{code}` are made from them.
 */
export interface ErrorDefinition {
  readonly status: number;
  readonly title: string;
  readonly explanation: string;
  readonly remedy: string;
}
