/** The ids in a path: read, and held against what the operation says of them. */
import type { Operation } from "@gatehouse/contract/operation";
import { AppError } from "../platform/app-error.ts";
import { isUuid } from "../platform/ids.ts";

export type PathParameters = Readonly<Record<string, string>>;

/** Ids as they are stored and told: in lower case (RFC 9562, section 4). */
export function canonicalIds(parameters: PathParameters): PathParameters {
  return Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => [name, isUuid(value) ? value.toLowerCase() : value]),
  );
}

/** @throws AppError invalid_parameter */
export function checkUuids(operation: Operation, parameters: PathParameters): void {
  for (const [name, kind] of Object.entries(operation.parameters ?? {})) {
    const value = parameters[name] ?? "";
    if (kind === "uuid" && !isUuid(value)) {
      throw new AppError("invalid_parameter", {
        detail: `The path parameter ${name} must be a UUID, not ${JSON.stringify(value.slice(0, 80))}.`,
        errors: [{ pointer: name, message: "must be a UUID" }],
      });
    }
  }
}

/**
 * A text that is no id is no record's id; asking the database would only be an error there.
 *
 * @throws AppError not_found
 */
export function checkStringIds(operation: Operation, parameters: PathParameters): void {
  for (const [name, kind] of Object.entries(operation.parameters ?? {})) {
    if (kind === "string" && !isUuid(parameters[name] ?? "")) throw new AppError("not_found");
  }
}
