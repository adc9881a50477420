import { operation } from "../operation.ts";
import { Revert, revertScopes } from "../records/revert.ts";
import { applyChanges } from "./changes.operations.ts";

export const revertEvent = operation({
  id: "revertEvent",
  method: "POST",
  path: "/tenants/events/{id}/revert",
  tag: "Events",
  summary: "Revert an event",
  description:
    "Restores what the event changed, in one transaction and one generation. Only the fields that the event changed return to their previous values; later changes of other fields remain. Reverting a creation deletes the record. Reverting a deletion creates the record again with a new id, and repairs the references to it. What cannot be restored, such as secrets, is reported in `cannot`. If nothing can be restored, the request fails with `not_revertible`. The revert consists of requests as in a change set, each with its own permission, rules and audit entries. If one of them is dangerous, people must have authenticated in the last 15 minutes. Access tests are evaluated once, after the last request. With `scope=request`, all events of the request are reverted, the last one first. Each new audit entry names the event that it reverts in `reverts`. `If-Match` takes the ETag of a preview: the tenant's generation.",
  access: "events:read",
  harmless: "it requires what its requests require, and shows people no tokens of gateways",
  parameters: { id: "uuid" },
  flags: { preview: "Return what the revert would do, without storing anything." },
  changesAccess: true,
  refusedInSets: "it performs a change set of its own",
  composite: true,
  success: {
    status: 200,
    kind: "record",
    body: Revert,
    query: {
      scope: {
        description: "`event` reverts this event only, and `request` all events of the request that it is part of.",
        values: revertScopes,
        default: "event",
      },
    },
  },
  errors: [
    "not_revertible",
    "revert_too_large",
    "preview_too_long",
    "evaluation_too_expensive",
    "evaluation_rate_exceeded",
    ...applyChanges.errors,
  ],
});
