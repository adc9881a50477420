import type { ErrorDefinition } from "./definition.ts";

/** Errors of configuration documents, change sets, previews and reverts. */
export const changeErrors = {
  configuration_too_large: {
    status: 409,
    title: "The tenant is too large for a configuration document",
    explanation:
      "A configuration is read, compared and written as a whole, so its size is limited. `detail` names the kind of record that exceeds the limit.",
    remedy: "Use the operations for individual records in a tenant of this size.",
  },
  invalid_configuration: {
    status: 422,
    title: "The configuration cannot be applied",
    explanation:
      "The document is well-formed, but it refers to missing records, violates a rule between records, or would delete a required record. `errors` lists the first 50 problems, each with a JSON Pointer into the document. Nothing was changed.",
    remedy:
      "Correct the problems that `errors` lists. `gatehouse plan` shows them with line and column. If a name in an earlier export contains invisible characters, remove them there and in all references to that name.",
  },
  not_previewable: {
    status: 422,
    title: "The request cannot be previewed",
    explanation:
      "A preview accepts the changes of a change set, and requests that can change access. It accepts no other paths and methods.",
    remedy:
      "Remove the change that `errors` points to, or correct its method and path. Write the path as in /openapi.json, without a query.",
  },
  not_allowed_in_set: {
    status: 422,
    title: "The request cannot be part of a change set",
    explanation:
      "A change set contains writes to records of the tenant. Reads, reports, operations that show a secret once, applying a configuration and other change sets cannot be part of it. `detail` gives the reason.",
    remedy:
      "Send the request that `errors` points to by itself, or correct its method and path. Write the path as in /openapi.json, without a query.",
  },
  not_revertible: {
    status: 409,
    title: "The event cannot be reverted",
    explanation:
      "Nothing that the event changed can be restored. `detail` gives the reasons, for example that the event is part of another deletion, or that Gatehouse does not store the previous secret.",
    remedy: "Follow the reasons in `detail`. The preview of the revert lists them by code.",
  },
  invalid_change_reference: {
    status: 422,
    title: "A name in a change set is not valid",
    explanation:
      "`@name` refers to the record that an earlier change of the same set created with `as`. No earlier change has this name, two changes have it, or the change that has it creates no single record.",
    remedy:
      "Give each name to one change that creates one record, and place that change before those that refer to it.",
  },
  revert_too_large: {
    status: 422,
    title: "The revert depends on too much history",
    explanation:
      "A revert locks the tenant while it reads the events that belong to it and the current records. Their number and size are limited. Nothing was changed.",
    remedy: "Restore the previous values with requests of your own. The audit record contains them.",
  },
  change_set_too_long: {
    status: 422,
    title: "The change set takes too long",
    explanation:
      "A change set locks the tenant while it performs the changes, so it stops after a few seconds. Nothing was changed. `errors` points to the first change that was not performed. A revert also stops if it takes too long to read what it must restore.",
    remedy: "Send fewer or smaller changes at a time.",
  },
  preview_too_long: {
    status: 422,
    title: "The preview takes too long",
    explanation:
      "A preview locks the tenant while it performs the changes in a dry run, so it stops after a few seconds. `errors` points to the first change that was not performed.",
    remedy: "Preview fewer or smaller changes at a time.",
  },
  idempotency_key_reused: {
    status: 422,
    title: "The Idempotency-Key was used for another request",
    explanation: "For 24 hours, a key identifies one request: the same operation, path and body.",
    remedy: "Use a new key for a new request.",
  },
} as const satisfies Record<string, ErrorDefinition>;
