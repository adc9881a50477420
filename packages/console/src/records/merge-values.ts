/** Merges two edits of one record, field by field. */
import type { Values } from "./form-fields.tsx";
import { isSame } from "./is-same.ts";

export interface Merge {
  /** Each side's changes. Fields that both sides changed hold the value of `mine`. */
  readonly merged: Values;
  /** Names of fields that both sides changed, to different values. */
  readonly contested: readonly string[];
  /** Names of fields that only the other side changed. */
  readonly theirs: readonly string[];
}

/** @param base the values that both edits started from */
export function mergeValues(base: Values, mine: Values, stored: Values): Merge {
  const merged: Record<string, unknown> = {};
  const contested: string[] = [];
  const theirs: string[] = [];
  for (const name of Object.keys(mine)) {
    const isMine = !isSame(mine[name], base[name]);
    const isTheirs = !isSame(stored[name], base[name]);
    merged[name] = isMine ? mine[name] : stored[name];
    if (isMine && isTheirs && !isSame(mine[name], stored[name])) contested.push(name);
    if (!isMine && isTheirs) theirs.push(name);
  }
  return { merged, contested, theirs };
}
