/** Entity tags of records and of tenants, and the comparison with If-Match. */
import { AppError } from "./app-error.ts";

/** The ETag of a record's version, or of a tenant's generation. */
export function entityTag(version: number): string {
  return `"${version}"`;
}

/**
 * Compares the header If-Match of a request with the current version.
 *
 * @param what the name of the version, for the message: "the record's ETag"
 * @throws AppError precondition_failed
 */
export function requireTag(ifMatch: string | undefined, version: number, what: string): void {
  if (ifMatch === undefined || ifMatch.trim() === "*") return;
  const current = entityTag(version);
  // Strong comparison (RFC 9110, section 13.1.1): a weak tag matches nothing.
  if (ifMatch.split(",").some((tag) => tag.trim() === current)) return;
  throw new AppError("precondition_failed", {
    detail: `If-Match is ${ifMatch.slice(0, 200) || "empty"}, but ${what} is now ${current}.`,
  });
}
