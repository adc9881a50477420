import type { ErrorDefinition } from "./definition.ts";

/** What stands between a request of good form and the records that it is about. */
export const errorsOfRecords = {
  name_taken: {
    status: 409,
    title: "The name is taken",
    explanation: "Another record of this kind in the tenant has the same name.",
    remedy: "Choose another name.",
  },
  email_taken: {
    status: 409,
    title: "The e-mail address is taken",
    explanation: "Another user of the tenant has this e-mail address; letter case makes no difference.",
    remedy: "Use another address, or change the user who has it.",
  },
  device_key_taken: {
    status: 409,
    title: "Another device has this public key",
    explanation: "A WireGuard public key identifies one device of a tenant.",
    remedy: "Generate a new key pair on the device, or delete the device that has the key.",
  },
  device_limit_reached: {
    status: 409,
    title: "The user has as many devices as allowed",
    explanation:
      "The limit is the user's maxDevices, else the largest of the user's groups, else 5. Deactivated devices count.",
    remedy: "Delete a device of the user, or raise maxDevices of the user or of one of the groups.",
  },
  user_not_deactivated: {
    status: 409,
    title: "The user is not deactivated",
    explanation: "Only a deactivated user can be reactivated.",
    remedy: "Nothing needs doing: the user is not deactivated.",
  },
  user_not_pending: {
    status: 409,
    title: "The user is not pending",
    explanation: "Only a user who has not accepted an invitation yet can be invited again.",
    remedy: "Nothing needs doing for an active user; reactivate one who is deactivated.",
  },
  user_not_active: {
    status: 409,
    title: "The user is not active",
    explanation: "Only an active user can become the tenant's owner.",
    remedy: "Choose an active user: one who has accepted the invitation and is not deactivated.",
  },
  invitation_expired: {
    status: 409,
    title: "The user's invitation has expired",
    explanation: "A pending user's first device accepts the invitation, which can be done for seven days.",
    remedy: "Renew the invitation with POST /tenants/users/{id}/invite.",
  },
  user_deactivated: {
    status: 409,
    title: "The user is deactivated",
    explanation: "A deactivated user cannot enrol devices.",
    remedy: "Reactivate the user first.",
  },
  device_not_deactivated: {
    status: 409,
    title: "The device is not deactivated",
    explanation: "Only a deactivated device can be reactivated.",
    remedy: "Nothing needs doing: the device is not deactivated.",
  },
  device_without_user: {
    status: 409,
    title: "The device belongs to nobody",
    explanation: "The device's user was deleted. Such a device stays as a record, and cannot be reactivated.",
    remedy: "Delete the device, and enrol it anew for the user who has it now.",
  },
  group_is_default: {
    status: 409,
    title: "A default group cannot be deleted",
    explanation: "The tenant's default group and its SAML default group must exist.",
    remedy: "Make another group the SAML default group first; the tenant's own default group stays.",
  },
  saml_default_group_required: {
    status: 409,
    title: "There must be a SAML default group",
    explanation:
      "New users from single sign-on join the SAML default group, so there is always exactly one. Taking the mark off it would leave none.",
    remedy: "Set `isSamlDefaultGroup` to true on another group: that takes the mark off this one.",
  },
  last_group: {
    status: 409,
    title: "A user needs at least one group",
    explanation:
      "The change would leave a user without any group; where a group is deleted, `errors` lists some of the users.",
    remedy: "Add the user to another group first.",
  },
  role_inherited: {
    status: 409,
    title: "The user holds the role through a group",
    explanation:
      "Only a role that a user holds directly can be taken off the user; `detail` names the groups that give it.",
    remedy: "Take the user out of the group, or the role off the group.",
  },
  owner_role_stays: {
    status: 409,
    title: "The owner keeps the owner's role",
    explanation: "There is exactly one owner; the role moves with the ownership and cannot be taken off.",
    remedy: "Transfer the ownership to another user.",
  },
  gateway_in_use: {
    status: 409,
    title: "A policy names the gateway",
    explanation:
      "The gateway is listed in `gateways` of a policy. Removing the last one there would widen what the policy allows.",
    remedy: "Take the gateway out of the policies that `errors` lists, or delete those policies.",
  },
  network_taken: {
    status: 409,
    title: "Another gateway has addresses of the network",
    explanation:
      "Traffic between sites needs one way to each address, so `networks` of two gateways have no address in common; `errors` names the other gateways.",
    remedy: "Take the network out of the other gateway's settings first, or write smaller blocks.",
  },
  relay_port_taken: {
    status: 409,
    title: "The relay port belongs to another gateway",
    explanation:
      "Relays tell by the port for which gateway a packet is. `relayPort` is that of one gateway of the tenant, and no port on which another one listens itself.",
    remedy: "Choose another port.",
  },
  too_many_tokens: {
    status: 409,
    title: "The gateway has too many tokens that still work",
    explanation: "A gateway may have ten earlier tokens whose grace has not ended. Rotating again would make it more.",
    remedy: "Rotate with `graceSeconds` 0, which ends all earlier tokens at once, or wait until one of them has ended.",
  },
  resource_full: {
    status: 409,
    title: "The resource has as many as it may have",
    explanation: "A resource may have 500 addresses and 500 gateways.",
    remedy: "Spread the addresses over several resources, use a CIDR or a `*.domain` for many, or disconnect gateways.",
  },
  resource_in_use: {
    status: 409,
    title: "An active policy names the resource",
    explanation: "A resource that an active policy lists in `resources` cannot be deleted.",
    remedy: "Take the resource out of the policies that `errors` lists, or deactivate those policies.",
  },
  protocol_in_use: {
    status: 409,
    title: "An address uses the protocol",
    explanation: "A protocol cannot be deleted while addresses use it.",
    remedy: "Take the protocol off the addresses that `errors` lists.",
  },
  admission_rule_in_use: {
    status: 409,
    title: "A policy uses the admission rule",
    explanation: "An admission rule cannot be deleted while policies use it.",
    remedy: "Give the policies that `errors` lists another rule.",
  },
  predefined_record: {
    status: 409,
    title: "The record is built in",
    explanation: "Predefined protocols, built-in admission rules and system roles are the same in every tenant.",
    remedy: "Create a record of your own instead.",
  },
  policy_is_default: {
    status: 409,
    title: "The default policy stays as it is",
    explanation:
      "The tenant's default internet policy is always there, active and last. Only its mode, gateways and description can be changed.",
    remedy: "Create a policy of your own; it is evaluated before the default one.",
  },
  policy_not_deactivated: {
    status: 409,
    title: "The policy is not deactivated",
    explanation: "Only a deactivated policy can be reactivated.",
    remedy: "Nothing needs doing: the policy is active.",
  },
  api_key_expired: {
    status: 409,
    title: "The key has expired",
    explanation: "A key that has expired cannot be rotated: its replacement would end at the same moment.",
    remedy: "Create a new key.",
  },
  api_key_replaced: {
    status: 409,
    title: "The key was already rotated",
    explanation: "A key that another one has replaced cannot be rotated again.",
    remedy: "Rotate the key that replaced it.",
  },
  configuration_too_large: {
    status: 409,
    title: "The tenant has more than a configuration document holds",
    explanation:
      "A configuration is read, compared and written as a whole, so its size is bounded; `detail` says which kind of record there are too many of.",
    remedy: "Use the operations of the single records for a tenant of this size.",
  },
  access_tests_broken: {
    status: 409,
    title: "The change would break access tests",
    explanation:
      "Access tests that are enforced hold now and would not hold after the change, by which somebody gains access; or a test is to be enforced that does not hold. `errors` lists each one, with some of those for whom it does not hold. A change that only takes access away is never refused.",
    remedy:
      "Change what you were about to do, or the test; POST /tenants/policies/preview shows what a change would break. To do it all the same, say why in the header `Gatehouse-Override-Reason`: the reason is kept in the audit record.",
  },
  access_test_limit_reached: {
    status: 409,
    title: "The tenant has as many access tests as allowed",
    explanation: "A tenant may have 1,000 access tests.",
    remedy: "Delete a test, or let one test of a group stand for those of its users.",
  },
  webhook_limit_reached: {
    status: 409,
    title: "The tenant has as many webhooks as allowed",
    explanation: "A tenant may have 20 webhooks, the inactive ones included.",
    remedy: "Delete a webhook, or let one receiver pass messages on to others.",
  },
  webhook_inactive: {
    status: 409,
    title: "The webhook is not active",
    explanation:
      "Nothing is delivered to a webhook that is not active; `disabledReason` says whether Gatehouse set it so.",
    remedy: "Set `active` to true first.",
  },
  webhook_event_gone: {
    status: 409,
    title: "The event is no longer kept",
    explanation: "The audit record has been cleared of the entry that the message told of.",
    remedy: "Nothing brings it back; read the records that it was about.",
  },
  unknown_reference: {
    status: 422,
    title: "A field refers to something that does not exist",
    explanation: "The tenant has no record with the id that a field of the body names; `errors` lists each one.",
    remedy: "Correct the ids, or create what they should refer to.",
  },
  invalid_combination: {
    status: 422,
    title: "Fields do not fit together",
    explanation: "Each field is well-formed, but together they break a rule; `errors` says which.",
    remedy: "Change one of the fields that `errors` lists.",
  },
  invalid_address: {
    status: 422,
    title: "The address is not allowed",
    explanation:
      "The text is no IP address, CIDR, host name or `*.domain`; or a private resource names addresses that are globally reachable or belong to the device pool 100.64.0.0/10; or one of `sourceIps` is no IP address or CIDR.",
    remedy: "Correct the addresses that `errors` lists.",
  },
  invalid_webhook_url: {
    status: 422,
    title: "The webhook's URL is not allowed",
    explanation:
      "It is no URL, is not https, holds a user name, a password or a fragment, or names an address that is not globally reachable.",
    remedy:
      "Write an https URL of a public receiver. For receivers in your own network, the operator names it in GATEHOUSE_WEBHOOK_ALLOWED_NETWORKS.",
  },
  unknown_event_type: {
    status: 422,
    title: "There is no such event",
    explanation:
      "An entry of `events` is neither a target type with `.created`, `.updated`, `.deleted` or `.*`, nor the `operationId` of an operation that changes something.",
    remedy: "Correct the entries that `errors` lists, such as `user.created`, `resource.*` or `reorderPolicies`.",
  },
  duplicate_address: {
    status: 422,
    title: "A resource names an address twice",
    explanation: "The same address may stand in many resources, but only once in each.",
    remedy: "Merge the two entries into one with all their protocols.",
  },
  invalid_rule: {
    status: 422,
    title: "The admission rule is not valid",
    explanation:
      "The text is not a CEL expression over the documented variables with a boolean result; `errors` gives line and column.",
    remedy: "Correct the rule where `errors` points.",
  },
  incomplete_order: {
    status: 422,
    title: "The order does not name every policy exactly once",
    explanation: "Reordering takes the complete list of the type's policies, the default policy left out or last.",
    remedy: "List the policies of the type and send all of their ids.",
  },
  role_not_assignable: {
    status: 422,
    title: "The role cannot be assigned",
    explanation: "There is exactly one owner; ownership is transferred, neither assigned nor taken off.",
    remedy: "Choose another role, or use POST /tenants/users/{id}/transfer-ownership.",
  },
  invalid_configuration: {
    status: 422,
    title: "The configuration cannot be applied",
    explanation:
      "The document is well-formed, but names what is not there, breaks a rule between records, or would delete what has to stay. `errors` lists each place with a JSON Pointer into the document, the first 50; nothing was changed.",
    remedy: "Correct the places that `errors` lists. `gatehouse plan` shows them by line and column.",
  },
  not_previewable: {
    status: 422,
    title: "The request cannot be previewed",
    explanation:
      "A preview takes requests that can change who may reach what; another path or method, or one that there is not, is none of them.",
    remedy:
      "Leave the change out that `errors` points to, or correct its method and path: without a query, as in /openapi.json.",
  },
  preview_too_long: {
    status: 422,
    title: "The changes take too long to preview",
    explanation:
      "Nobody else can change the tenant while a preview tries its changes, so it is given up before the next change when that has lasted some seconds. `errors` points to the change that was not tried any more.",
    remedy: "Preview fewer changes at a time, or smaller ones.",
  },
  idempotency_key_reused: {
    status: 422,
    title: "The Idempotency-Key was used for another request",
    explanation: "Within 24 hours, a key stands for one request: the same operation, path and body.",
    remedy: "Use a new key for a new request.",
  },
} as const satisfies Record<string, ErrorDefinition>;
