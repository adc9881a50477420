/** The engine of change sets: performs changes together or not at all. */
import {
  isAllowedInSet,
  isPreviewable,
  isWrite,
  type Operation,
  takesOverrideReason,
} from "@gatehouse/contract/operation";
import { type Change, type ChangeSetResult, changeSetLimitBytes } from "@gatehouse/contract/records/change-set";
import type { Call } from "../../platform/call.ts";
import { type Outcome, record } from "../../platform/outcome.ts";
import { readGeneration } from "../../platform/tenancy/generation.queries.ts";
import { performChanges } from "./perform-changes.ts";
import {
  type PreparedChange,
  type PreparingCall,
  prepareChanges,
  requireRecentFor,
  type SetRules,
} from "./prepare-changes.ts";

const inSets: SetRules = {
  allows: isAllowedInSet,
  refusal: "not_allowed_in_set",
  refused: (operation) => `cannot be part of a change set: ${refusedBecause(operation)}`,
};

const inPreviews: SetRules = {
  allows: isPreviewable,
  refusal: "not_previewable",
  // The body of a preview can be larger, because it may contain a configuration.
  bodyCharacters: changeSetLimitBytes,
  refused: (operation) => `cannot be previewed: ${refusedBecause(operation)}`,
};

function refusedBecause(operation: Operation | undefined): string {
  if (operation === undefined) return "no operation has this method and path";
  return operation.refusedInSets ?? (isWrite(operation) ? "it is not a write in a tenant" : "it changes nothing");
}

/**
 * Validates the changes of a set.
 *
 * @throws AppError not_allowed_in_set, and like `prepareChanges`
 */
export function prepareSet(
  call: PreparingCall & Pick<Call<Operation>, "evaluateAlways">,
  changes: readonly Change[],
): Promise<readonly PreparedChange[]> {
  return call.evaluateAlways(prepareChanges(call, changes, inSets));
}

/**
 * Validates the changes of a preview.
 *
 * @throws AppError not_previewable, payload_too_large, and like `prepareChanges`
 */
export function preparePreview(
  call: PreparingCall & Pick<Call<Operation>, "evaluateAlways">,
  changes: readonly Change[],
): Promise<readonly PreparedChange[]> {
  return call.evaluateAlways(prepareChanges(call, changes, inPreviews));
}

/**
 * Performs prepared changes as one command of the call's operation: one transaction, one generation, and one stored
 * reply. The call's If-Match is compared with the tenant's generation.
 *
 * @param bodyOf creates the response from the results
 * @throws AppError like the first change that is refused, pointing to it; precondition_failed, change_set_too_long,
 * access_tests_broken
 */
export function applySet(
  call: Pick<
    Call<Operation>,
    "runBatch" | "inner" | "requireGeneration" | "requireRecentAuthentication" | "evaluateAlways"
  >,
  changes: readonly PreparedChange[],
  bodyOf: (result: ChangeSetResult) => object = (result) => result,
): Promise<Outcome> {
  requireRecentFor(call, changes);
  const dependsOnAccess = changes.some(({ found }) => takesOverrideReason(found.operation));
  return call.runBatch(dependsOnAccess, async (batch) => {
    const current = (await readGeneration(batch.tx)) ?? 0;
    call.requireGeneration(current);
    const results = await performChanges(call, changes, batch);
    const changedNothing = results.every(({ events }) => events.length === 0);
    // No other command of the tenant runs, so this one makes the next generation.
    const generation = changedNothing ? current : current + 1;
    return record(bodyOf({ generation, changes: [...results] }), generation);
  });
}
