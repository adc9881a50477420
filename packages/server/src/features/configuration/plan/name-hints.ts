import { nearestName } from "../../../platform/nearest-name.ts";

/** The number of comparisons for all hints of one document. A comparison takes about a microsecond. */
const comparisons = 50_000;

/** Suggests existing names for mistyped ones, within a fixed number of comparisons. */
export class NameHints {
  #left = comparisons;

  /** @returns undefined if no name is close, or the comparisons are used up */
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
