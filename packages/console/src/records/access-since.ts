/** Since when access exists, from the access at a few earlier times. */
import { type AccessRow, type FoldedRow, foldDevices } from "./fold-devices.ts";

/** The earlier times, in days before now, from the latest to the earliest. */
const probedDays = [1, 7, 30, 90] as const;
const dayMs = 86_400_000;

/** An earlier time at which access is examined. */
export interface ProbeTime {
  /** ISO 8601. */
  readonly at: string;
  /** The time is at most so many days ago. */
  readonly days: number;
  readonly isBeginning: boolean;
}

/** Access at an earlier time; undefined rows if the history no longer covers that time. */
export interface Probe extends ProbeTime {
  readonly rows: readonly AccessRow[] | undefined;
}

/**
 * The times to examine, from the latest to the earliest. If the history is shorter than the longest span, the last time
 * is its beginning.
 *
 * @param now in milliseconds since 1970
 * @param begins the start of the history in ISO 8601; undefined if there is none
 */
export function probeTimes(now: number, begins: string | undefined): readonly ProbeTime[] {
  if (begins === undefined) return [];
  const start = Date.parse(begins);
  const times: ProbeTime[] = [];
  for (const days of probedDays) {
    const at = now - days * dayMs;
    if (at <= start) return [...times, { at: begins, days, isBeginning: true }];
    times.push({ at: new Date(at).toISOString(), days, isBeginning: false });
  }
  return times;
}

/**
 * When the access of a row began.
 *
 * - `within`: in the last `days` days, because it did not exist at that time.
 * - `before`: it also existed `days` days ago, and at each later time that was examined.
 * - `beginning`: it also existed when the history began.
 */
export type Since = { readonly kind: "within" | "before"; readonly days: number } | { readonly kind: "beginning" };

/** @param probes in the order of `probeTimes`. @returns undefined if no earlier time could be examined */
export function sinceOf(row: FoldedRow, probes: readonly Probe[]): Since | undefined {
  const key = keyOf(row);
  let since: Since | undefined;
  for (const { rows, days, isBeginning } of probes) {
    if (rows === undefined) break;
    if (!foldDevices(rows).some((earlier) => keyOf(earlier) === key)) return { kind: "within", days };
    since = isBeginning ? { kind: "beginning" } : { kind: "before", days };
  }
  return since;
}

/** A user and a resource. The policy that allows the access may have changed. */
function keyOf({ row: { user, resource } }: FoldedRow): string {
  return `${user.id} ${resource.id}`;
}
