import type { Change } from "../change.ts";
import type { CreatedRecord } from "./tenant-tx.ts";

/** @throws Error if a command announced other changes than it recorded: their effect would be wrong */
export function requireSameRecords(announced: readonly CreatedRecord[], recorded: readonly Change[]): void {
  const keys = new Set(announced.map(({ type, id }) => `${type} ${id}`));
  const known = recorded.filter(({ type, id, before }) => before === undefined && keys.has(`${type} ${id}`));
  if (known.length !== recorded.length || keys.size !== recorded.length) {
    throw new Error("a command recorded other changes than it announced");
  }
}
