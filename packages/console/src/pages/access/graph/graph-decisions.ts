/** What decisions say of the resources that are drawn. */
import { type Decision, formatReason } from "../format-access.ts";

export interface Reached {
  readonly isReached: boolean;
  readonly words: string;
  /** The device that it was decided with, where it was one. */
  readonly deviceId?: string;
}

/**
 * Each resource was asked for in as many ways as there are.
 * @param ways ids of devices, and undefined for without one
 */
export function readDecisions(
  resources: readonly string[],
  ways: readonly (string | undefined)[],
  decisions: readonly Decision[],
): ReadonlyMap<string, Reached> {
  return new Map(
    resources.map((id, index): readonly [string, Reached] => {
      const some = ways.flatMap((deviceId, way) => {
        const decision = decisions[index * ways.length + way];
        return decision === undefined ? [] : [{ ...decision, by: deviceId === undefined ? {} : { deviceId } }];
      });
      const allowed = some.filter(({ decision }) => decision);
      const carried = allowed.find(({ context }) => !context.reasons.includes("no_reachable_gateway"));
      const best = carried ?? allowed[0];
      if (best !== undefined) {
        const withDevice = best.by.deviceId === undefined ? "" : ", with a device";
        const but = carried === undefined ? ", but no gateway is up" : "";
        return [id, { isReached: true, words: `Allowed now${withDevice}${but}`, ...best.by }];
      }
      // A policy's own word says more than that none allows it.
      const said = some.find(({ context }) => context.reason !== "no_policy_allows") ?? some.at(-1);
      return [id, { isReached: false, words: `Not now: ${formatReason(said?.context.reason ?? "")}`, ...said?.by }];
    }),
  );
}
