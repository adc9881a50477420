import { GatehouseError } from "@gatehouse/client/errors";
import type { PlannedChange } from "../../records/planned-change.ts";

/** A pointer to a deleted record in a list of a body. In a preview, the pointer starts with the change. */
const place = /^(?:\/changes\/(\d+)\/body)?\/(\w+)\/(\d+)$/;

/** The changes without references to deleted records; undefined if they were refused for another reason. */
export function withoutMissing(
  changes: readonly PlannedChange[],
  error: unknown,
): readonly PlannedChange[] | undefined {
  if (!(error instanceof GatehouseError) || error.code !== "unknown_reference") return undefined;
  const gone = new Set<string>();
  for (const { pointer } of error.errors) {
    const [, index = "0", field, item] = place.exec(pointer) ?? [];
    if (field === undefined || item === undefined) return undefined;
    gone.add(`${index}/${field}/${item}`);
  }
  if (gone.size === 0) return undefined;
  return changes.map((change, index) => {
    if (typeof change.body !== "object" || change.body === null) return change;
    const body = Object.fromEntries(
      Object.entries(change.body).map(([field, value]: readonly [string, unknown]) => [
        field,
        Array.isArray(value) ? value.filter((_, item) => !gone.has(`${index}/${field}/${item}`)) : value,
      ]),
    );
    return { ...change, body };
  });
}
