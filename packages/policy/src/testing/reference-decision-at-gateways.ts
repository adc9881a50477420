import type { AccessRequest } from "../decisions/request.ts";
import type { TenantFacts } from "../model/facts.ts";
import { decideByContract, type ReferenceDecision } from "./reference-decision.ts";

/**
 * A decision whose source address differs between gateways (docs/decisions/0157-observed-source-addresses.md), as plain
 * loops. The engine is tested against this function.
 *
 * @param observed the addresses that count at some gateways instead of the request's
 */
export function decideAtGatewaysByContract(
  facts: TenantFacts,
  request: AccessRequest,
  observed: ReadonlyMap<string, string>,
): ReferenceDecision {
  const elsewhere = decideByContract(facts, request);
  if (request.subject.kind === "site") return elsewhere;
  // "LOCAL and RESTRICTED are applied on the device, by the control plane's address".
  if (elsewhere.mode === "LOCAL" || elsewhere.mode === "RESTRICTED") return elsewhere;

  // "A gateway carries the traffic if the decision with the address that counts there names the gateway."
  const at = (gatewayId: string) => {
    const sourceIp = observed.get(gatewayId);
    return sourceIp === undefined ? elsewhere : decideByContract(facts, { ...request, sourceIp });
  };
  const carrying = facts.gateways.map(({ id }) => id).filter((id) => at(id).gateways.includes(id));

  // "The order of the gateways stays": that of the resource, or else that of the policies. The decision with the
  // control plane's address comes first, then those with the addresses of gateways, in the order of their ids.
  const order: string[] = [];
  const resource = facts.resources.find(({ id }) => id === elsewhere.resource?.id);
  order.push(...(resource?.gateways ?? []), ...elsewhere.gateways);
  for (const id of [...observed.keys()].sort()) order.push(...at(id).gateways);
  const gateways = [...new Set(order)].filter((id) => carrying.includes(id));

  // "The decision is that of the first gateway that carries the traffic. If none does, it is that of the first gateway
  // that would carry it with the control plane's address, without gateways."
  const [first = elsewhere.gateways[0]] = gateways;
  if (first === undefined) return elsewhere;
  const decision = at(first);
  const readsNow = [elsewhere, ...[...observed.keys()].map(at)].some((one) => one.readsNow);
  if (gateways.length > 0) return { ...decision, gateways, readsNow };
  const reasons = decision.allowed ? (["allowed_by_policy", "no_reachable_gateway"] as const) : decision.reasons;
  return { ...decision, reasons, gateways: [], readsNow };
}
