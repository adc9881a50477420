import { changeErrors } from "./change-errors.ts";
import type { ErrorDefinition } from "./definition.ts";
import { networkErrors } from "./network-errors.ts";
import { peopleErrors } from "./people-errors.ts";
import { policyErrors } from "./policy-errors.ts";

/** Errors of well-formed requests that conflict with the tenant's records or with the rules for a kind of record. */
export const recordErrors = {
  name_taken: {
    status: 409,
    title: "The name is taken",
    explanation: "Another record of this kind in the tenant has the same name.",
    remedy: "Choose another name.",
  },
  api_key_expired: {
    status: 409,
    title: "The API key has expired",
    explanation: "An expired key cannot be rotated, because its replacement would have the same expiry.",
    remedy: "Create a new key.",
  },
  api_key_replaced: {
    status: 409,
    title: "The API key was already rotated",
    explanation: "A key that was replaced by rotation cannot be rotated again.",
    remedy: "Rotate the key that replaced it.",
  },
  view_limit_reached: {
    status: 409,
    title: "The person has reached the limit of views",
    explanation: "A person can have at most 100 views of lists.",
    remedy: "Delete a view.",
  },
  webhook_limit_reached: {
    status: 409,
    title: "The tenant has reached the webhook limit",
    explanation: "A tenant can have at most 20 webhooks, including inactive ones.",
    remedy: "Delete a webhook, or forward messages from one receiver to others.",
  },
  webhook_inactive: {
    status: 409,
    title: "The webhook is not active",
    explanation:
      "Gatehouse does not deliver to an inactive webhook. `disabledReason` shows whether Gatehouse disabled it.",
    remedy: "Set `active` to true first.",
  },
  webhook_event_gone: {
    status: 409,
    title: "The event no longer exists",
    explanation: "The audit entry that the message described was removed when the audit record was pruned.",
    remedy: "The event cannot be restored. Read the records that it described instead.",
  },
  unknown_reference: {
    status: 422,
    title: "A field refers to a record that does not exist",
    explanation: "A field of the body contains an id that no record of the tenant has. `errors` lists each one.",
    remedy: "Correct the ids, or create the missing records.",
  },
  invalid_combination: {
    status: 422,
    title: "The fields conflict with each other",
    explanation: "Each field is well-formed, but together they violate a rule. `errors` states which.",
    remedy: "Change one of the fields that `errors` lists.",
  },
  invalid_name: {
    status: 422,
    title: "The name contains invisible characters",
    explanation:
      "A new name cannot contain characters that change the direction of text, line separators, or invisible characters such as zero-width spaces and fillers. Joiners, variation selectors and tags are accepted only where they can change what is visible, such as in emoji and Arabic or Indic words. A name must contain a visible character. Otherwise different names could look the same. Existing names stay valid, and a revert restores them.",
    remedy:
      "Remove the characters that `errors` describes from the name, or add visible ones. Right-to-left scripts need no direction controls.",
  },
  invalid_webhook_url: {
    status: 422,
    title: "The webhook URL is not allowed",
    explanation:
      "The URL is malformed, does not use https, contains a user name, password or fragment, or points to an address that is not globally reachable.",
    remedy:
      "Use the https URL of a public receiver. To allow receivers in your own network, the operator sets GATEHOUSE_WEBHOOK_ALLOWED_NETWORKS.",
  },
  unknown_event_type: {
    status: 422,
    title: "The event type does not exist",
    explanation:
      "An entry of `events` is neither a target type with `.created`, `.updated`, `.deleted` or `.*`, nor the `operationId` of an operation that changes data.",
    remedy: "Correct the entries that `errors` lists. Examples: `user.created`, `resource.*`, `reorderPolicies`.",
  },
  ...peopleErrors,
  ...networkErrors,
  ...policyErrors,
  ...changeErrors,
} as const satisfies Record<string, ErrorDefinition>;
