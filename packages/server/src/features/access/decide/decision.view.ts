import type { AccessReason, DecisionContext, NamedRecord } from "@gatehouse/contract/records/decision";
import type { Decision } from "@gatehouse/policy/decisions/decision";
import type { Model } from "@gatehouse/policy/model/model";

/** A decision as the API shows it. */
export function decisionView(decision: Decision, model: Model): Omit<DecisionContext, "explanation"> {
  const { reasons, policy, resource, gateways, mode, validUntil } = decision;
  // Thousands of decisions are made per second: assigning fields is faster than spreading objects.
  const view: Omit<DecisionContext, "explanation"> = { reason: reasons[0], reasons: [...reasons] };
  if (policy !== undefined) view.policy = policy;
  if (resource !== undefined) view.resource = resource;
  if (policy !== undefined) view.gateways = gateways.flatMap((id) => gatewayNamed(model, id));
  if (mode !== undefined) view.mode = mode;
  if (validUntil !== undefined) view.validUntil = momentView(validUntil);
  return view;
}

/**
 * Returns the JSON of `decisionView` for a decision. Batches thereby avoid an object for each decision and a second
 * pass over the objects.
 */
export function decisionJson(decision: Decision, model: Model): string {
  const { allowed, reasons, policy, resource, gateways, mode, validUntil } = decision;
  // Ids, reasons, modes and times contain no characters that JSON escapes.
  let json = `{"decision":${allowed},"context":{"reason":"${reasons[0]}","reasons":["${reasons.join('","')}"]`;
  if (policy !== undefined) json += `,"policy":${namedJson(policy)}`;
  if (resource !== undefined) json += `,"resource":${namedJson(resource)}`;
  if (policy !== undefined) {
    let named = "";
    for (const id of gateways) {
      const gateway = model.gateways.get(id);
      if (gateway !== undefined) named += `${named === "" ? "" : ","}${namedJson(gateway)}`;
    }
    json += `,"gateways":[${named}]`;
  }
  if (mode !== undefined) json += `,"mode":"${mode}"`;
  if (validUntil !== undefined) json += `,"validUntil":"${momentView(validUntil)}"`;
  return `${json}}}`;
}

function namedJson({ id, name }: NamedRecord): string {
  return `{"id":"${id}","name":${JSON.stringify(name)}}`;
}

/** A denial without an evaluation of policies. */
export function refusalView(reason: AccessReason): DecisionContext {
  return { reason, reasons: [reason] };
}

function gatewayNamed(model: Model, id: string): NamedRecord[] {
  const gateway = model.gateways.get(id);
  return gateway === undefined ? [] : [{ id, name: gateway.name }];
}

/** The last time that ISO 8601 can write with a four-digit year. A later time means never. */
const latest = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

export function momentView(time: number): string {
  return new Date(Math.min(time, latest)).toISOString();
}
