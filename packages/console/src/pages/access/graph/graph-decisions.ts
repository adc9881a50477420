/** What decisions say of the resources that are drawn. */
import { type Decision, sayReason } from "../say-access.ts";

export interface Reached {
  readonly isReached: boolean;
  readonly words: string;
}

/** Each resource was asked for in as many ways: without a device, and with each. */
export function readDecisions(
  resources: readonly string[],
  ways: number,
  decisions: readonly Decision[],
): ReadonlyMap<string, Reached> {
  return new Map(
    resources.map((id, index): readonly [string, Reached] => {
      const some = decisions.slice(index * ways, (index + 1) * ways);
      const without = some[0]?.decision === true;
      if (some.some(({ decision }) => decision)) {
        return [id, { isReached: true, words: without || ways === 1 ? "Reached now" : "Reached now, with a device" }];
      }
      // A policy's own word says more than that none allows it.
      const said = some.find(({ context }) => context.reason !== "no_policy_allows") ?? some[0];
      return [id, { isReached: false, words: `Not now: ${sayReason(said?.context.reason ?? "")}` }];
    }),
  );
}
