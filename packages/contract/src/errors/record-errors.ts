import type { ErrorDefinition } from "./definition.ts";

/** Errors of well-formed requests that conflict with the tenant's records or with the rules for a kind of record. */
export const recordErrors = {
  name_taken: {
    status: 409,
    title: "The name is taken",
    explanation: "Another record of this kind in the tenant has the same name.",
    remedy: "Choose another name.",
  },
  email_taken: {
    status: 409,
    title: "The email address is taken",
    explanation: "Another user of the tenant has this email address. Letter case is ignored.",
    remedy: "Use another address, or change the user who has it.",
  },
  device_key_taken: {
    status: 409,
    title: "Another device has this public key",
    explanation: "A WireGuard public key identifies one device in the tenant.",
    remedy: "Generate a new key pair on the device, or delete the device that has the key.",
  },
  device_limit_reached: {
    status: 409,
    title: "The user has reached the device limit",
    explanation:
      "The limit is the user's `maxDevices`, otherwise the largest `maxDevices` of the user's groups, otherwise 5. Deactivated devices count.",
    remedy: "Delete a device of the user, or increase `maxDevices` of the user or of one of the user's groups.",
  },
  group_limit_reached: {
    status: 409,
    title: "The user has reached the group limit",
    explanation: "A user can be in at most 256 groups.",
    remedy: "Remove the user from a group first, or combine groups.",
  },
  user_not_deactivated: {
    status: 409,
    title: "The user is not deactivated",
    explanation: "Only a deactivated user can be reactivated.",
    remedy: "No action is needed: the user is not deactivated.",
  },
  user_not_pending: {
    status: 409,
    title: "The user is not pending",
    explanation: "Only a user who has not accepted an invitation yet can be invited again.",
    remedy: "No action is needed for an active user. Reactivate a user who is deactivated.",
  },
  user_not_active: {
    status: 409,
    title: "The user is not active",
    explanation: "Only an active user can become the tenant's owner.",
    remedy: "Choose a user who has accepted the invitation and is not deactivated.",
  },
  invitation_expired: {
    status: 409,
    title: "The user's invitation has expired",
    explanation:
      "A pending user accepts the invitation within seven days, by signing in or by enrolling the first device.",
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
    remedy: "No action is needed: the device is not deactivated.",
  },
  device_runs_agent: {
    status: 409,
    title: "The device runs the agent",
    explanation:
      "This request is for devices with another WireGuard app. With the agent, the user signs in on the device.",
    remedy: "Run `sudo gatehouse-device sign-in` on the device.",
  },
  device_deactivated: {
    status: 409,
    title: "The device is deactivated",
    explanation: "A deactivated device gets no session.",
    remedy: "Ask an administrator to reactivate the device, then sign in again.",
  },
  device_without_user: {
    status: 409,
    title: "The device has no user",
    explanation: "The device's user was deleted. The device remains as a record, but cannot be reactivated.",
    remedy: "Delete the device, then enrol it again for its current user.",
  },
  device_without_sessions: {
    status: 409,
    title: "The device has no sessions",
    explanation:
      "Nobody can sign in on the device: it was enrolled with an enrolment key, or its user was deleted. Its access does not depend on a session.",
    remedy: "Deactivate the device to end its access.",
  },
  too_many_devices: {
    status: 422,
    title: "The request affects too many devices",
    explanation: "One request ends the sessions of at most 5,000 devices. Nothing was changed.",
    remedy: "Name smaller groups or individual users, in several requests.",
  },
  group_is_default: {
    status: 409,
    title: "A default group cannot be deleted",
    explanation: "The tenant's default group and its SAML default group must exist.",
    remedy:
      "To delete the SAML default group, first make another group the SAML default group. The tenant's default group cannot be deleted.",
  },
  saml_default_group_required: {
    status: 409,
    title: "A SAML default group is required",
    explanation:
      "New users from single sign-on join the SAML default group, so the tenant always has exactly one. The change would leave none.",
    remedy: "Set `isSamlDefaultGroup` to true on another group. Gatehouse then sets it to false on this group.",
  },
  last_group: {
    status: 409,
    title: "A user must be in at least one group",
    explanation:
      "The change would leave a user without a group. When a group is deleted, `errors` lists some of these users.",
    remedy: "Add the user to another group first.",
  },
  role_inherited: {
    status: 409,
    title: "The user inherits the role from a group",
    explanation: "Only a role that is assigned to the user directly can be removed. `detail` names the groups.",
    remedy: "Remove the user from the group, or remove the role from the group.",
  },
  owner_role_stays: {
    status: 409,
    title: "The owner role cannot be removed",
    explanation: "The tenant has exactly one owner. The role moves only when ownership is transferred.",
    remedy: "Transfer the ownership to another user.",
  },
  gateway_in_use: {
    status: 409,
    title: "A policy refers to the gateway",
    explanation:
      "A policy lists the gateway in `gateways`. Removing the last gateway from that list would widen what the policy allows.",
    remedy: "Remove the gateway from the policies that `errors` lists, or delete those policies.",
  },
  network_taken: {
    status: 409,
    title: "The network overlaps another gateway's networks",
    explanation:
      "Traffic between sites needs one route to each address, so the `networks` of two gateways cannot overlap. `errors` names the other gateways.",
    remedy: "Remove the network from the other gateway's settings first, or use smaller blocks.",
  },
  relay_port_taken: {
    status: 409,
    title: "Another gateway uses the relay port",
    explanation:
      "A relay identifies the gateway that a packet is for by its port. A `relayPort` therefore belongs to one gateway of the tenant, and no other gateway can use it as its WireGuard port.",
    remedy: "Choose another port.",
  },
  too_many_tokens: {
    status: 409,
    title: "The gateway has too many valid tokens",
    explanation:
      "At most ten previous tokens of a gateway can be in their grace period. Another rotation would exceed that.",
    remedy:
      "Rotate with `graceSeconds` 0, which revokes all previous tokens immediately, or wait until one of them expires.",
  },
  resource_full: {
    status: 409,
    title: "The resource has reached its limit",
    explanation: "A resource can have at most 500 addresses and 500 gateways.",
    remedy: "Split the resource, replace several addresses with a CIDR or a `*.domain`, or disconnect gateways.",
  },
  resource_in_use: {
    status: 409,
    title: "An active policy refers to the resource",
    explanation: "A resource cannot be deleted while an active policy lists it in `resources`.",
    remedy: "Remove the resource from the policies that `errors` lists, or deactivate those policies.",
  },
  protocol_in_use: {
    status: 409,
    title: "An address uses the protocol",
    explanation: "A protocol cannot be deleted while addresses use it.",
    remedy: "Remove the protocol from the addresses that `errors` lists.",
  },
  admission_rule_in_use: {
    status: 409,
    title: "A policy uses the admission rule",
    explanation: "An admission rule cannot be deleted while policies use it.",
    remedy: "Assign another rule to the policies that `errors` lists.",
  },
  predefined_record: {
    status: 409,
    title: "The record is built in",
    explanation:
      "Predefined protocols, built-in admission rules and system roles are the same in every tenant and cannot be changed.",
    remedy: "Create your own record instead.",
  },
  policy_is_default: {
    status: 409,
    title: "The default policy cannot be changed this way",
    explanation:
      "The default internet policy always exists, is active and is evaluated last. Only its mode, gateways and description can be changed.",
    remedy: "Create your own policy. It is evaluated before the default policy.",
  },
  policy_not_deactivated: {
    status: 409,
    title: "The policy is not deactivated",
    explanation: "Only a deactivated policy can be reactivated.",
    remedy: "No action is needed: the policy is active.",
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
  configuration_too_large: {
    status: 409,
    title: "The tenant is too large for a configuration document",
    explanation:
      "A configuration is read, compared and written as a whole, so its size is limited. `detail` names the kind of record that exceeds the limit.",
    remedy: "Use the operations for individual records in a tenant of this size.",
  },
  access_tests_broken: {
    status: 409,
    title: "The change would break access tests",
    explanation:
      "The change grants access that would break enforced access tests which pass now, or it enforces a test that does not pass. `errors` lists each test with some of the subjects for which it fails. A change that only removes access, or only ends sessions of devices, is never rejected.",
    remedy:
      "Adjust the change or the test. POST /tenants/policies/preview shows which tests a change would break. To apply the change anyway, give a reason in the header `Gatehouse-Override-Reason`. The audit record stores the reason.",
  },
  access_test_limit_reached: {
    status: 409,
    title: "The tenant has reached the access test limit",
    explanation: "A tenant can have at most 1,000 access tests.",
    remedy: "Delete a test, or replace tests of individual users with one test of their group.",
  },
  identity_provider_limit_reached: {
    status: 409,
    title: "The tenant has reached the limit of identity providers",
    explanation: "A tenant can have at most 20 identity providers, including disabled ones.",
    remedy: "Delete an identity provider.",
  },
  identity_provider_untested: {
    status: 409,
    title: "The identity provider was not tested",
    explanation: "A provider can be enabled only after a test sign-in with its current settings succeeded.",
    remedy: "Start a test with `POST /tenants/identity-providers/{id}/test`, and open the returned address.",
  },
  identity_provider_enabled: {
    status: 409,
    title: "The identity provider is enabled",
    explanation:
      "Issuer, client, scopes and the groups claim cannot change while people sign in with the provider: a mistake would lock them out.",
    remedy:
      "Create a second provider with the new settings, test and enable it, and disable the first one; or disable this provider first.",
  },
  domain_taken: {
    status: 409,
    title: "The domain is taken",
    explanation:
      "The tenant has the domain already, or another tenant of this installation has proven that it owns it.",
    remedy:
      "Use the domain that the tenant has. If the domain has changed hands, ask the operator of the installation.",
  },
  domain_limit_reached: {
    status: 409,
    title: "The tenant has reached the limit of domains",
    explanation: "A tenant can have at most 50 domains, including domains that are not verified.",
    remedy: "Delete a domain.",
  },
  domain_not_proven: {
    status: 409,
    title: "DNS does not prove the ownership of the domain",
    explanation: "The domain's TXT record is missing or has another value, or DNS did not respond in time.",
    remedy: "Publish the record with `recordName` and `recordValue`, and repeat the request once DNS shows it.",
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
  key_not_proved: {
    status: 422,
    title: "The proof of the WireGuard key is not valid",
    explanation:
      "The answer does not prove possession of the private key, or the challenge has expired or was issued to another person.",
    remedy:
      "Request another challenge with `POST /tenants/my/devices/key-challenge`, and answer it within ten minutes.",
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
      "A new name cannot contain characters that change the direction of text, line separators, or invisible characters such as zero-width spaces. It must contain a visible character. Otherwise different names could look the same. Existing names stay valid, and a revert restores them.",
    remedy:
      "Remove the characters from the name, or add visible ones. Right-to-left scripts need no direction controls.",
  },
  invalid_address: {
    status: 422,
    title: "The address is not allowed",
    explanation:
      "An address is not an IP address, CIDR, host name or `*.domain`, or an entry of `sourceIps` is not an IP address or CIDR. A private resource also cannot contain globally reachable addresses, or addresses of the device pool 100.64.0.0/10. A new address of a private resource also cannot be loopback, link-local or reserved, belong to a metadata service, or embed such an address. Stored addresses stay valid. `answersWithin` applies to names of private resources only, and its entries are IP addresses or CIDRs.",
    remedy: "Correct the addresses that `errors` lists.",
  },
  invalid_issuer: {
    status: 422,
    title: "The issuer is not allowed",
    explanation:
      "The URL is malformed, does not use https, contains forbidden parts, or points to an address that is not globally reachable. The forbidden parts are a user name, a password, a query and a fragment.",
    remedy:
      "Copy the issuer from the provider's metadata. To allow providers in your own network, the operator sets GATEHOUSE_PROVIDER_ALLOWED_NETWORKS.",
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
  duplicate_address: {
    status: 422,
    title: "The resource contains an address twice",
    explanation: "Several resources can have the same address, but each resource can have it only once.",
    remedy: "Merge the two entries into one with all their protocols.",
  },
  too_many_ports: {
    status: 422,
    title: "The resource has too many ports",
    explanation:
      "The protocols of all addresses of a resource together can list at most 10,000 ports and ranges: the entries of their `networkProtocols`. A protocol that several addresses use counts for each of them.",
    remedy:
      "Replace ports that follow each other with a range, replace several addresses with a CIDR or a `*.domain`, or split the resource.",
  },
  invalid_rule: {
    status: 422,
    title: "The admission rule is not valid",
    explanation:
      "The text is not a CEL expression over the documented variables with a boolean result. `errors` gives the line and column.",
    remedy: "Correct the rule at the positions in `errors`.",
  },
  incomplete_order: {
    status: 422,
    title: "The order does not list every policy exactly once",
    explanation:
      "Reordering requires the complete list of policies of the type. The default policy is either last or omitted.",
    remedy: "List the policies of the type and send all their ids.",
  },
  role_not_assignable: {
    status: 422,
    title: "The role cannot be assigned",
    explanation: "The tenant has exactly one owner. The owner role is neither assigned nor removed, only transferred.",
    remedy: "Choose another role, or use POST /tenants/users/{id}/transfer-ownership.",
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
  evaluation_too_expensive: {
    status: 422,
    title: "The request costs too much to evaluate",
    explanation:
      "One request can cost at most 250 million units of evaluation, about 5 seconds of processor time. The cost grows with the number of questions, users and policies, and with the cost of the admission rules.",
    remedy: "Ask about fewer records in one request, or simplify the admission rules.",
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
  last_way_in: {
    status: 409,
    title: "The user could not sign in any more",
    explanation:
      "The passkey, enrolment link or identity provider is the user's last sign-in method, or `singleSignOnOnly` would leave the owner without one.",
    remedy:
      "Enable an identity provider, create a recovery code, or register another passkey first. A reset removes all passkeys.",
  },
  single_sign_on_only: {
    status: 409,
    title: "The tenant accepts only single sign-on",
    explanation: "Enrolment links register passkeys, which the tenant setting `singleSignOnOnly` does not allow.",
    remedy: "Invite the person to sign in through an identity provider, or change the setting.",
  },
  mail_not_configured: {
    status: 409,
    title: "Mail is not configured",
    explanation:
      "The request has `notify`, but the setting GATEHOUSE_SMTP_URL names no SMTP server. Nothing was changed. Without `notify`, create an enrolment link for the user and hand it over.",
    remedy:
      "Repeat the request without `notify`, create a link with `POST /tenants/users/{id}/enrolment-links`, and hand it over. To send mail, set GATEHOUSE_SMTP_URL and GATEHOUSE_MAIL_FROM.",
  },
  mail_limit_reached: {
    status: 429,
    title: "The daily limit for email is reached",
    explanation:
      "A tenant can send 10 emails per address and 2,000 emails in total per day (UTC). GATEHOUSE_MAILS_PER_TENANT sets another total. Emails that replace a pending one count too. Nothing was changed.",
    remedy:
      "Create a link without `notify` and hand it over, or wait for `Retry-After` seconds. With GATEHOUSE_MAILS_PER_TENANT, the operator can raise the daily total of every tenant.",
  },
} as const satisfies Record<string, ErrorDefinition>;
