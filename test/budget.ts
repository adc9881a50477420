import { inject } from "vitest";

declare module "vitest" {
  export interface ProvidedContext {
    /** Share of their full budget that long properties and fault tests spend: 1 in the project `soak`. */
    budget: number;
  }
}

/**
 * Scales a full number of runs to the project's budget.
 *
 * @param full number of runs, requests or milliseconds of `npm run test:soak`
 * @param least smallest number with which the test still proves something
 */
export function budgeted(full: number, least = 1): number {
  return Math.max(least, Math.ceil(full * inject("budget")));
}

/**
 * Smallest tally that proves that the random cases cover the relevant situations. Only the full budget proves it: small
 * samples vary too much.
 */
export function expectedTally(full: number): number {
  return inject("budget") < 1 ? 0 : full;
}
