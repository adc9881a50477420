import type { CompiledResource } from "../model/compiled-resource.ts";
import type { Model } from "../model/model.ts";
import type { Principal } from "../model/principal.ts";
import { decisionCost, finish, type Work } from "../work.ts";
import { type DecisionOfPolicy, deciding, decidingForResource, gatewaysInOrder } from "./decide.ts";
import type { Decision } from "./decision.ts";
import { gatewaysOf } from "./policy-gateways.ts";
import type { AccessRequest } from "./request.ts";
import { resolveDestination } from "./resolve-destination.ts";
import { resolvePrincipal } from "./resolve-principal.ts";

/**
 * Decides a request whose source address differs between gateways. Each gateway evaluates policies with the address
 * that counts there (docs/decisions/0157-observed-source-addresses.md). Without observed addresses, the result
 * equals the result of `decide`.
 *
 * @param observed the addresses that count at some gateways instead of the request's
 */
export function decideAtGateways(
  model: Model,
  request: AccessRequest,
  observed: ReadonlyMap<string, string>,
): Decision {
  return finish(decidingAtGateways(model, request, observed));
}

/** Decides like `decideAtGateways`, as work that can be suspended between two policies. */
export function* decidingAtGateways(
  model: Model,
  request: AccessRequest,
  observed: ReadonlyMap<string, string>,
): Work<Decision> {
  const { subject, destination } = request;
  const principal = resolvePrincipal(model, subject);
  const { resource, denied } = resolveDestination(model, destination);
  if (typeof principal === "string" || denied !== undefined || subject.kind === "site") {
    return yield* deciding(model, request);
  }
  return (yield* decidingForResourceAtGateways(model, request, principal, resource, observed)).decision;
}

export interface DecisionAtGateways {
  readonly decision: Decision;
  /** Whether a gateway may carry the traffic when it is in service. */
  readonly mayCarry: (gatewayId: string) => boolean;
}

/** Decides like `decidingAtGateways`, for a device whose principal and destination are already resolved. */
export function* decidingForResourceAtGateways(
  model: Model,
  request: AccessRequest,
  principal: Principal,
  resource: CompiledResource | undefined,
  observed: ReadonlyMap<string, string>,
): Work<DecisionAtGateways> {
  yield decisionCost;
  const own = yield* decidingForResource(model, request, principal, resource);
  const { decision } = own;
  // The device itself applies these modes, by the control plane's address.
  if (observed.size === 0 || decision.mode === "LOCAL" || decision.mode === "RESTRICTED") {
    return { decision, mayCarry: (id) => isOf(own, resource, id) };
  }
  const byAddress = new Map<string, DecisionOfPolicy>();
  for (const sourceIp of new Set(observed.values())) {
    yield decisionCost;
    byAddress.set(sourceIp, yield* decidingForResource(model, { ...request, sourceIp }, principal, resource));
  }
  const at = (gatewayId: string) => byAddress.get(observed.get(gatewayId) ?? "") ?? own;
  const mayCarry = (id: string) => isOf(at(id), resource, id);
  const gatewaysAt = (id: string) => at(id).decision.gateways;
  const ofResource = resource === undefined ? [] : gatewaysInOrder(model, resource, principal.key);
  const ofOthers = [...observed.keys()].sort().flatMap(gatewaysAt);
  const candidates = new Set([...ofResource, ...decision.gateways, ...ofOthers]);
  const gateways = [...candidates].filter((id) => gatewaysAt(id).includes(id));
  const [first = decision.gateways[0]] = gateways;
  const { validUntil: _, ...base } = first === undefined ? decision : at(first).decision;
  const reasons = base.allowed && first !== undefined && gateways.length === 0 ? unreachable : base.reasons;
  const all = [own, ...byAddress.values()].map((one) => one.decision.validUntil ?? never);
  const validUntil = Math.min(...all);
  const result = { ...base, reasons, gateways, ...(validUntil === never ? {} : { validUntil }) };
  return { decision: result, mayCarry };
}

function isOf({ policy }: DecisionOfPolicy, resource: CompiledResource | undefined, gatewayId: string): boolean {
  return policy !== undefined && gatewaysOf(policy, resource).includes(gatewayId);
}

const never = Number.POSITIVE_INFINITY;
const unreachable: Decision["reasons"] = ["allowed_by_policy", "no_reachable_gateway"];
