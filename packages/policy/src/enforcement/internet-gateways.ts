import type { Model } from "../model/model.ts";
import { entryCost, forEach, type Work } from "../work.ts";

export type InternetPolicies = Model["policies"]["INTERNET"];

/**
 * The gateways through which active policies carry devices' internet traffic, whatever their conditions. A resource of
 * type INTERNET can have other gateways, which carry only the traffic to its addresses.
 */
export function* findingInternetGateways({ policies }: InternetPolicies): Work<ReadonlySet<string>> {
  const found = new Set<string>();
  const costOf = ({ facts }: InternetPolicies["policies"][number]) => entryCost * (1 + facts.gateways.length);
  yield* forEach(policies, costOf, ({ facts }) => {
    if (!facts.active || !facts.action || facts.mode !== "INTERNET_ACCESS_POINT") return;
    for (const id of facts.gateways) found.add(id);
  });
  return found;
}
