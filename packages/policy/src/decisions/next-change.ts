import type { Model } from "../model/model.ts";
import { decisionCost, type Work } from "../work.ts";
import { deciding } from "./decide.ts";
import type { Decision } from "./decision.ts";
import type { AccessRequest } from "./request.ts";

/** The maximum number of later times that are evaluated. Rules about hours hold for an hour, so this is over a week. */
const mostTimes = 200;
/** The units after which the search ends, about 40 ms. */
const mostUnits = 2_000_000;

/**
 * Finds the next time at which access begins or ends because time passes. `validUntil` of a decision can be much
 * earlier: until then, the decision is certain without another evaluation.
 *
 * @param decision the decision on the request
 * @returns milliseconds since 1970; undefined if time has no influence, or if the search ends before it finds a change
 */
export function* findingNextChange(model: Model, request: AccessRequest, decision: Decision): Work<number | undefined> {
  let at = decision.validUntil;
  let spent = 0;
  for (let times = 0; at !== undefined && times < mostTimes && spent < mostUnits; times += 1) {
    const work = deciding(model, { ...request, now: at });
    let step = work.next();
    for (; step.done !== true; step = work.next()) {
      spent += step.value;
      yield step.value;
    }
    spent += decisionCost;
    if (step.value.allowed !== decision.allowed) return at;
    at = step.value.validUntil;
  }
  return undefined;
}
