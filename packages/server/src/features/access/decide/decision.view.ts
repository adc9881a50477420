import type { AccessReason, DecisionContext, NamedRecord } from "@gatehouse/contract/records/decision";
import type { Decision } from "@gatehouse/policy/decisions/decision";
import type { Model } from "@gatehouse/policy/model/model";

/** A decision as the API tells it. */
export function decisionView(decision: Decision, model: Model): Omit<DecisionContext, "explanation"> {
  const { reasons, policy, resource, gateways, mode, validUntil } = decision;
  // Thousands are made in a second: fields are put in one by one, not spread from objects of their own.
  const view: Omit<DecisionContext, "explanation"> = { reason: reasons[0], reasons: [...reasons] };
  if (policy !== undefined) view.policy = policy;
  if (resource !== undefined) view.resource = resource;
  if (policy !== undefined) view.gateways = gateways.flatMap((id) => gatewayNamed(model, id));
  if (mode !== undefined) view.mode = mode;
  if (validUntil !== undefined) view.validUntil = momentView(validUntil);
  return view;
}

/** A denial that no policy was asked about. */
export function refusalView(reason: AccessReason): DecisionContext {
  return { reason, reasons: [reason] };
}

function gatewayNamed(model: Model, id: string): NamedRecord[] {
  const gateway = model.gateways.get(id);
  return gateway === undefined ? [] : [{ id, name: gateway.name }];
}

/** The last moment that ISO 8601 has four digits for the year of; one after it is as good as never. */
const latest = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

function momentView(time: number): string {
  return new Date(Math.min(time, latest)).toISOString();
}
