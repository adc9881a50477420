import type { CompiledPolicy } from "../model/compiled-policy.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";

/**
 * The gateways of a request that the policy decides (contract, "Policy evaluation", steps 4 and 5), whatever their
 * status. Empty if the policy denies or sends the traffic elsewhere.
 */
export function gatewaysOf({ facts }: CompiledPolicy, resource: CompiledResource | undefined): readonly string[] {
  if (!facts.action) return [];
  const own = resource?.facts.gateways ?? [];
  const isInternet = facts.type === "INTERNET";
  if (isInternet && facts.mode !== "INTERNET_ACCESS_POINT") return [];
  if (isInternet && own.length === 0) return facts.gateways;
  return facts.gateways.length === 0 ? own : own.filter((id) => facts.gateways.includes(id));
}
