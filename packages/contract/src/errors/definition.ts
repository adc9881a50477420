/**
 * An error of the API. `explanation` says when it occurs and `remedy` what to do about it. `docs/errors.md` and the
 * pages at `/errors/{code}` are generated from these definitions.
 */
export interface ErrorDefinition {
  readonly status: number;
  readonly title: string;
  readonly explanation: string;
  readonly remedy: string;
}
