/** Since when access exists, from the access at a few earlier times. */
import { type AccessRow, type FoldedRow, foldDevices } from "./fold-devices.ts";

/** The earlier times, in days before now, from the latest to the earliest. */
export const probedDays = [1, 7, 30, 90] as const;

/** Access at an earlier time; undefined if the history does not reach back so far. */
export type Probe = readonly AccessRow[] | undefined;

/**
 * When the access of a row began.
 *
 * - `within`: in the last `days` days, because it did not exist at that time.
 * - `before`: it also existed `days` days ago, and at each later time that was examined.
 */
export interface Since {
  readonly kind: "within" | "before";
  readonly days: number;
}

/** @param probes in the order of `probedDays`. @returns undefined if the history begins within the last day */
export function sinceOf(row: FoldedRow, probes: readonly Probe[]): Since | undefined {
  const key = keyOf(row);
  let since: Since | undefined;
  for (const [index, days] of probedDays.entries()) {
    const probe = probes[index];
    if (probe === undefined) break;
    if (!foldDevices(probe).some((earlier) => keyOf(earlier) === key)) return { kind: "within", days };
    since = { kind: "before", days };
  }
  return since;
}

/** A user and a resource. The policy that allows the access may have changed. */
function keyOf({ row: { user, resource } }: FoldedRow): string {
  return `${user.id} ${resource.id}`;
}
