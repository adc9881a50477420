import type { AccessReason, DecisionContext, NamedRecord } from "@gatehouse/contract/records/decision";
import type { Decision } from "@gatehouse/policy/decisions/decision";
import type { Model } from "@gatehouse/policy/model/model";

/** A decision as the API tells it. */
export function decisionView(decision: Decision, model: Model): Omit<DecisionContext, "explanation"> {
  const { reasons, policy, resource, gateways, mode, validUntil } = decision;
  return {
    reason: reasons[0],
    reasons: [...reasons],
    ...(policy === undefined ? {} : { policy }),
    ...(resource === undefined ? {} : { resource }),
    ...(policy === undefined ? {} : { gateways: gateways.flatMap((id) => gatewayNamed(model, id)) }),
    ...(mode === undefined ? {} : { mode }),
    ...(validUntil === undefined ? {} : { validUntil: momentView(validUntil) }),
  };
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
