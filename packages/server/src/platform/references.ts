import type { ProblemField } from "@gatehouse/contract/problem";
import { AppError } from "./app-error.ts";
import { isUuid } from "./ids.ts";

/** Ids that a field of a body refers to. */
export interface Reference {
  /** JSON Pointer of the field; for a list, the index is added. */
  readonly pointer: string;
  /** What the ids should be ids of, singular: `gateway`. */
  readonly noun: string;
  readonly ids: readonly string[];
}

/** The ids as the database compares them; what is no UUID is left out, and so is never known. */
export function askable(ids: readonly string[]): string[] {
  return [...new Set(ids.filter(isUuid).map((id) => id.toLowerCase()))];
}

/** Fields that one answer lists at most. */
const reportedFields = 50;

/**
 * The ids that are not known, as fields of the body. Another tenant's id is unknown here just like one that does not
 * exist.
 *
 * @param known the ids that the tenant has records of
 */
export function unknownReferences({ pointer, noun, ids }: Reference, known: ReadonlySet<string>): ProblemField[] {
  return ids.flatMap((id, index) =>
    known.has(id.toLowerCase())
      ? []
      : [{ pointer: `${pointer}/${index}`, message: `no ${noun} has the id ${JSON.stringify(id.slice(0, 64))}` }],
  );
}

/** @throws AppError unknown_reference, naming each of the fields, unless there are none */
export function refuseUnknown(unknown: readonly ProblemField[]): void {
  if (unknown.length === 0) return;
  throw new AppError("unknown_reference", { errors: unknown.slice(0, reportedFields) });
}

/**
 * @param known the ids that the tenant has records of
 * @throws AppError unknown_reference, naming each id that is not known
 */
export function requireKnown(reference: Reference, known: ReadonlySet<string>): void {
  refuseUnknown(unknownReferences(reference, known));
}
