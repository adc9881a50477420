/**
 * Every error the API answers with: one stable code, one status, one title, one page of documentation.
 *
 * `explanation` says when it happens and `remedy` what to do about it; the pages under `docs/errors/` and at
 * `/errors/{code}` are made from them.
 */
export interface ErrorDefinition {
  readonly status: number;
  readonly title: string;
  readonly explanation: string;
  readonly remedy: string;
}

export const errorDefinitions = {
  invalid_json: {
    status: 400,
    title: "The body is not valid JSON",
    explanation: "The request's body was announced as JSON, but could not be read as such, or it was missing.",
    remedy: "Send one complete JSON value, encoded in UTF-8.",
  },
  invalid_body: {
    status: 400,
    title: "The body does not have the declared form",
    explanation:
      "A field is missing, is not known to this operation, or has a value of the wrong type, form or length. `errors` lists each one with a JSON Pointer to it.",
    remedy:
      "Correct the fields listed in `errors`. Fields that the operation does not know are refused, never ignored.",
  },
  invalid_parameter: {
    status: 400,
    title: "A parameter does not have the declared form",
    explanation: "A path parameter, query parameter or header has a value that the operation cannot read.",
    remedy: "Correct the parameter that `detail` names.",
  },
  missing_api_key: {
    status: 401,
    title: "No API key was given",
    explanation: "Every operation needs a key in the request header `apikey`.",
    remedy: "Send the header `apikey` with a key of the tenant. Operations under /operator take the operator key.",
  },
  invalid_api_key: {
    status: 401,
    title: "The API key is not valid",
    explanation: "The key is unknown, was revoked or rotated away, or has expired.",
    remedy: "Check the key for truncation. If it is gone, have someone with `api-keys:write` create another.",
  },
  session_ended: {
    status: 401,
    title: "The session has ended",
    explanation:
      "The console's session is unknown, was signed out, was not used for an hour, is older than twelve hours, or the API key that it stands for was revoked or has expired.",
    remedy: "Sign in again. Programs send an API key in the header `apikey` instead of a session.",
  },
  foreign_origin: {
    status: 403,
    title: "The request comes from another site",
    explanation:
      "A request with the console's session cookie must come from a page of this Gatehouse. By its `Sec-Fetch-Site` or `Origin` header this one does not, or a change came with neither header.",
    remedy:
      "Programs send an API key in the header `apikey` instead of a cookie. Behind a proxy, have it pass the `Host` header on unchanged.",
  },
  invalid_gateway_token: {
    status: 401,
    title: "The gateway's token is not valid",
    explanation:
      "The link of gateways needs a gateway's token as `Authorization: Bearer`, and there was none, or one that is unknown, or was rotated away and whose grace is over.",
    remedy: "Give the agent the gateway's present token. Keys that hold `gateways:token` are shown it.",
  },
  invalid_device_token: {
    status: 401,
    title: "The device's token is not valid",
    explanation:
      "The link of devices needs a device's token as `Authorization: Bearer`, and there was none, or one that is unknown, or was replaced by a newer one.",
    remedy: "Give the device a new token, and its agent that token. It is shown once, so one that is lost is replaced.",
  },
  permission_denied: {
    status: 403,
    title: "The API key lacks the permission for this operation",
    explanation: "The key is valid, but does not hold the permission that the operation needs; `detail` names it.",
    remedy: "Use a key that holds the permission.",
  },
  source_address_not_allowed: {
    status: 403,
    title: "The API key may not be used from this address",
    explanation: "The key is bound to source addresses, and the request came from another one.",
    remedy:
      "Call from one of the key's `sourceIps`. Behind a proxy, name the proxy in GATEHOUSE_TRUSTED_PROXIES so that the caller's own address is seen.",
  },
  grants_exceed_caller: {
    status: 403,
    title: "A caller cannot grant more than it holds",
    explanation:
      "A new key would hold permissions that the calling key does not, live longer, or be usable from other addresses; or a role or a group would give somebody permissions that the calling key does not hold. `detail` names what exceeds.",
    remedy:
      "Grant no more than the calling key's permissions, and to keys no more than its expiry and source addresses, or use a key that has them.",
  },
  not_found: {
    status: 404,
    title: "No such record",
    explanation:
      "The tenant has no record with this id. A record of another tenant is answered in the same way, so that ids tell nothing.",
    remedy: "Check the id, and that the key belongs to the tenant you mean.",
  },
  before_history: {
    status: 404,
    title: "The history does not reach back that far",
    explanation:
      "What could be reached at a moment is worked out from recorded history. It begins with the tenant, with the upgrade to the version that records it, or where the retention of the audit record ends; `detail` names the moment.",
    remedy: "Ask for a later moment.",
  },
  upgrade_required: {
    status: 426,
    title: "This address takes WebSockets only",
    explanation: "Agents of gateways or devices open a WebSocket here, with the subprotocol that `detail` names.",
    remedy: "Open a WebSocket. Proxies in between must pass on `Upgrade` and `Connection`.",
  },
  too_many_links: {
    status: 503,
    title: "Too many agents connect at once",
    explanation: "This replica has as many links as it may, or too many agents are connecting at the moment.",
    remedy: "Connect again after `Retry-After`, or to another replica. Agents do both by themselves.",
  },
  no_such_operation: {
    status: 404,
    title: "No such operation",
    explanation: "No operation has this path.",
    remedy: "See /docs or /openapi.json for the paths there are.",
  },
  method_not_allowed: {
    status: 405,
    title: "The path does not take this method",
    explanation: "The path exists, but not with this HTTP method; the `Allow` header lists those it takes.",
    remedy: "Use one of the methods in `Allow`.",
  },
  request_timeout: {
    status: 408,
    title: "The request did not arrive in time",
    explanation: "The request's headers or body were not complete when the time for them ran out.",
    remedy: "Send the request again, whole.",
  },
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
  precondition_failed: {
    status: 412,
    title: "The record has changed",
    explanation: "`If-Match` names a version of the record that is no longer the current one.",
    remedy: "Read the record again, decide anew, and send its new ETag.",
  },
  payload_too_large: {
    status: 413,
    title: "The body is too large",
    explanation: "A request's body may have 1 MiB at most, or as much as the operation's description says.",
    remedy: "Split the request into smaller ones.",
  },
  unsupported_media_type: {
    status: 415,
    title: "The body is not JSON",
    explanation: "Bodies are JSON, and say so in `Content-Type: application/json`.",
    remedy: "Send JSON with the header `Content-Type: application/json`.",
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
  rate_limited: {
    status: 429,
    title: "Too many requests",
    explanation:
      "The key has made as many requests in this minute as it may, 6,000 unless GATEHOUSE_RATE_LIMIT_PER_MINUTE says otherwise. Refused ones count too.",
    remedy:
      "Wait for as long as `Retry-After` says, in seconds. `RateLimit-Remaining` of earlier answers tells how much was left.",
  },
  too_many_failed_authentications: {
    status: 429,
    title: "Too many requests with a wrong key from this address",
    explanation:
      "From the caller's address (for IPv6, its /64) came too many requests without a valid key, 300 in five minutes unless GATEHOUSE_AUTH_FAILURE_LIMIT says otherwise. Until the five minutes are over, only keys that were used from there within the last hour are accepted.",
    remedy:
      "Find the program that uses a wrong key and stop it, then wait for as long as `Retry-After` says, in seconds. Behind a proxy, name the proxy in GATEHOUSE_TRUSTED_PROXIES so that callers are told apart.",
  },
  too_many_streams: {
    status: 429,
    title: "Too many live streams",
    explanation: "The key, or the tenant, follows the audit record on as many connections as it may.",
    remedy: "Close a stream that is not needed, or share one between its readers.",
  },
  header_too_large: {
    status: 431,
    title: "The request's headers are too large",
    explanation: "All headers together may have 16 KiB.",
    remedy: "Send fewer or shorter headers.",
  },
  internal_error: {
    status: 500,
    title: "Something went wrong in Gatehouse",
    explanation: "An error that should not happen. Nothing was changed. The cause is in the server's log.",
    remedy: "Report it together with `requestId`.",
  },
  no_stream_free: {
    status: 503,
    title: "The server follows as many streams as it can",
    explanation: "All tenants together hold as many live streams open as this server takes.",
    remedy: "Try again after as many seconds as `Retry-After` says; another replica may have room.",
  },
  database_unavailable: {
    status: 503,
    title: "The database is not reachable",
    explanation: "Gatehouse cannot reach its database, or the database is too busy to answer in time.",
    remedy: "Try again after as many seconds as `Retry-After` says. A write may be repeated with its Idempotency-Key.",
  },
} as const satisfies Record<string, ErrorDefinition>;

/** A stable error code. */
export type ErrorCode = keyof typeof errorDefinitions;

/** Every error code, in the order of their statuses. */
export const errorCodes = Object.keys(errorDefinitions) as ErrorCode[]; // the keys of the table are its codes

/** The problem type of a code: a reference that the installation itself serves a page at (RFC 9457, section 3.1.1). */
export function problemType(code: ErrorCode): string {
  return `/errors/${code}`;
}
