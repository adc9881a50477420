/** What a command did to access, as it is stored with it. Pure. */
import type { BrokenAccessTest, EffectSummary } from "@gatehouse/contract/records/effect";
import type { FactChange } from "@gatehouse/policy/model/facts";
import type { Model } from "@gatehouse/policy/model/model";

/** Stands in until there is a comparison. */
export interface AccessDifference {
  readonly changes: readonly FactChange[];
}

const none = { users: 0, devices: 0, sites: 0, resources: 0, pairs: 0 };

/** @param judge may refuse the effect by throwing */
export function effectOf(
  _before: Model,
  _after: Model,
  changes: readonly FactChange[],
  judge: (difference: AccessDifference) => readonly BrokenAccessTest[],
): EffectSummary {
  const brokenTests = [...judge({ changes })];
  return { gained: none, lost: none, groupCount: 0, groups: [], brokenTests };
}
