/** Ids of other records in a request body. */
import type { ProblemField } from "@gatehouse/contract/problem";
import { AppError } from "../../platform/app-error.ts";
import { isUuid } from "../../platform/ids.ts";

/** Ids in one field of a body. */
export interface RequestedIds {
  /** JSON Pointer of the list; an error appends the index. */
  readonly pointer: string;
  /** The kind of record, singular: `gateway`. */
  readonly noun: string;
  readonly ids: readonly string[];
}

/** The ids in lower case, each once. Texts that are not UUIDs are dropped, since no record can have them. */
export function canonicalIds(ids: readonly string[]): string[] {
  return [...new Set(ids.filter(isUuid).map((id) => id.toLowerCase()))];
}

/** The number of fields that one error lists at most. */
const reportedFields = 50;

/**
 * Fields of the body whose id no record of the tenant has. An id of another tenant is reported like one that does not
 * exist.
 *
 * @param existing ids of the tenant's records
 */
export function missingIds({ pointer, noun, ids }: RequestedIds, existing: ReadonlySet<string>): ProblemField[] {
  return ids.flatMap((id, index) =>
    existing.has(id.toLowerCase())
      ? []
      : [{ pointer: `${pointer}/${index}`, message: `no ${noun} has the id ${JSON.stringify(id.slice(0, 64))}` }],
  );
}

/** @throws AppError unknown_reference, listing the fields, unless there are none */
export function refuseMissing(missing: readonly ProblemField[]): void {
  if (missing.length === 0) return;
  throw new AppError("unknown_reference", { errors: missing.slice(0, reportedFields) });
}

/**
 * @param existing ids of the tenant's records
 * @throws AppError unknown_reference, listing each id that no record has
 */
export function requireIds(requested: RequestedIds, existing: ReadonlySet<string>): void {
  refuseMissing(missingIds(requested, existing));
}
