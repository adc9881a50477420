/** Reverts an event that created a record: deletes the record. */
import type { Change } from "@gatehouse/contract/records/change-set";
import { undoneEvent } from "./later-changes.ts";
import { cannot } from "./reasons.ts";
import { embeddedId } from "./recorded-state.ts";
import { type CurrentState, impossible, type RevertedEvent, type RevertPlan } from "./revert-plan.ts";
import { samlDefault } from "./update-plan.ts";
import { pathsByType } from "./update-requests.ts";

export function planDeletion(reverted: RevertedEvent, state: CurrentState): RevertPlan {
  const { event, later } = reverted;
  const { type, id } = event.target;
  const path = pathsByType[type];
  if (path === undefined) return impossible(cannot("unsupported"));
  const now = state.record(type, id);
  if (now === undefined) {
    const deletion = later.find(({ target, after }) => target.id === id && after === undefined);
    // The record is gone already, so nothing remains to be reverted.
    return impossible(cannot("record_deleted", deletion === undefined ? {} : { event: deletion.id }));
  }
  const saml = samlDefault(reverted, state, now);
  return {
    changes: [...(saml?.changes ?? []), { method: "DELETE", path: deletionPath(reverted, path) }],
    cannot: saml?.cannot ?? [],
    undoes: later
      .filter(({ target }) => target.type === type && target.id === id)
      .map((entry) => undoneEvent(entry, [])),
    recreated: undefined,
  };
}

/** An address that was added to a resource is removed through the resource, which increments its version. */
function deletionPath({ event: { target, operation, after = {} } }: RevertedEvent, path: string): Change["path"] {
  const resource = embeddedId(after, "resource");
  return operation === "addResourceAddress" && resource !== undefined
    ? `/tenants/resources/${resource}/addresses/${target.id}`
    : `${path}/${target.id}`;
}
