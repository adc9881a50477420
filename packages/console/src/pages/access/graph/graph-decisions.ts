/** Decisions for the visible resources. */

import { t } from "../../../messages/i18n.ts";
import { type Decision, formatReason } from "../format-access.ts";

export interface Reached {
  readonly isReached: boolean;
  readonly words: string;
  /** The device of the decision, if any. */
  readonly deviceId?: string;
}

/**
 * Each resource has one decision for each device choice.
 *
 * @param deviceChoices ids of devices, and undefined for no device
 */
export function readDecisions(
  resources: readonly string[],
  deviceChoices: readonly (string | undefined)[],
  decisions: readonly Decision[],
): ReadonlyMap<string, Reached> {
  return new Map(
    resources.map((id, index): readonly [string, Reached] => {
      const some = deviceChoices.flatMap((deviceId, choice) => {
        const decision = decisions[index * deviceChoices.length + choice];
        return decision === undefined ? [] : [{ ...decision, by: deviceId === undefined ? {} : { deviceId } }];
      });
      const allowed = some.filter(({ decision }) => decision);
      const carried = allowed.find(({ context }) => !context.reasons.includes("no_reachable_gateway"));
      const best = carried ?? allowed[0];
      if (best !== undefined) {
        const words = formatAllowed(best.by.deviceId !== undefined, carried !== undefined);
        return [id, { isReached: true, words, ...best.by }];
      }
      // The reason of a policy says more than the default denial.
      const denial = some.find(({ context }) => context.reason !== "no_policy_allows") ?? some.at(-1);
      return [
        id,
        {
          isReached: false,
          words: t("graph.reached.denied", { reason: formatReason(denial?.context.reason ?? "") }),
          ...denial?.by,
        },
      ];
    }),
  );
}

function formatAllowed(withDevice: boolean, hasGateway: boolean): string {
  if (hasGateway) return withDevice ? t("graph.reached.allowedWithDevice") : t("graph.reached.allowed");
  return withDevice ? t("graph.reached.allowedWithDeviceNoGateway") : t("graph.reached.allowedNoGateway");
}
