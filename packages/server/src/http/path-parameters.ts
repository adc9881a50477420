/** Reads the ids in a path and validates them against the operation's declaration. */
import type { Operation } from "@gatehouse/contract/operation";
import { AppError } from "../platform/app-error.ts";
import { isUuid } from "../platform/ids.ts";

export type PathParameters = Readonly<Record<string, string>>;

/** Ids in the stored form: lower case (RFC 9562, section 4). */
export function canonicalIds(parameters: PathParameters): PathParameters {
  const canonical: Record<string, string> = {};
  for (const name in parameters) {
    const value = parameters[name] ?? "";
    canonical[name] = isUuid(value) ? value.toLowerCase() : value;
  }
  return canonical;
}

/** @throws AppError invalid_parameter */
export function checkUuids(operation: Operation, parameters: PathParameters): void {
  for (const [name, kind] of Object.entries(operation.parameters ?? {})) {
    const value = parameters[name] ?? "";
    if (kind === "uuid" && !isUuid(value)) {
      throw new AppError("invalid_parameter", {
        detail: `${JSON.stringify(value.slice(0, 80))} is not a valid path parameter ${name}. Use a UUID.`,
        errors: [{ pointer: name, message: "must be a UUID" }],
      });
    }
  }
}

/**
 * Rejects strings that are not ids, since the database would fail on them.
 *
 * @throws AppError not_found
 */
export function checkStringIds(operation: Operation, parameters: PathParameters): void {
  for (const [name, kind] of Object.entries(operation.parameters ?? {})) {
    if (kind === "string" && !isUuid(parameters[name] ?? "")) throw new AppError("not_found");
  }
}
