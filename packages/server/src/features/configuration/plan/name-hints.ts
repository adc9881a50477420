import type { Work } from "@gatehouse/policy/work";
import { nearestName } from "../../../platform/nearest-name.ts";

/** The steps for all hints of one document. Comparing two names takes a step for each pair of their characters. */
const maxSteps = 5_000_000;
/** The steps between two slices. A step costs about one rule-cost unit. */
const stepsAtOnce = 20_000;

/** Suggests existing names for mistyped ones, within a fixed number of steps. */
export class NameHints {
  #left = maxSteps;

  /** @returns undefined if no name is close, or the steps are used up */
  *nearest(name: string, candidates: Iterable<string>): Work<string | undefined> {
    if (name.length > 120) return undefined;
    const alike: string[] = [];
    let steps = 0;
    for (const candidate of candidates) {
      if (this.#left <= 0) break;
      const isAlike = Math.abs(candidate.length - name.length) <= 3;
      const taken = isAlike ? (candidate.length + 1) * (name.length + 1) : 1;
      this.#left -= taken;
      steps += taken;
      if (isAlike) alike.push(candidate);
      if (steps < stepsAtOnce) continue;
      yield steps;
      steps = 0;
      const nearest = nearestName(name, alike);
      alike.length = 0;
      if (nearest !== undefined) alike.push(nearest);
    }
    yield steps;
    return nearestName(name, alike);
  }
}
