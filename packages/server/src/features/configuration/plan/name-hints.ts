import { nearestName } from "../../../platform/nearest-name.ts";

/** Names that are compared for all hints of one document together: each comparison costs about a microsecond. */
const comparisons = 50_000;

/** Finds what mistyped names most likely mean, for as long as that costs little. */
export class NameHints {
  #left = comparisons;

  /** @returns undefined when none is close, or enough was compared already */
  nearest(name: string, candidates: Iterable<string>): string | undefined {
    if (name.length > 120) return undefined;
    const alike: string[] = [];
    for (const candidate of candidates) {
      if (this.#left <= 0) break;
      if (Math.abs(candidate.length - name.length) > 3) continue;
      this.#left -= 1;
      alike.push(candidate);
    }
    return nearestName(name, alike);
  }
}
