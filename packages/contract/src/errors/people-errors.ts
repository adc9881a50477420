import type { ErrorDefinition } from "./definition.ts";

/** Errors of users, groups, roles, devices, sign-in and email. */
export const peopleErrors = {
  email_taken: {
    status: 409,
    title: "The email address is taken",
    explanation: "Another user of the tenant has this email address. Letter case is ignored.",
    remedy: "Use another address, or change the user who has it.",
  },
  device_key_taken: {
    status: 409,
    title: "Another device or gateway has this public key",
    explanation: "A WireGuard public key belongs to one device or gateway of the tenant.",
    remedy: "Generate a new key pair on the device, or delete the device or gateway that has the key.",
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
  key_not_proved: {
    status: 422,
    title: "The proof of the WireGuard key is not valid",
    explanation:
      "The answer does not prove possession of the private key, or the challenge has expired or was issued to another person.",
    remedy:
      "Request another challenge with `POST /tenants/my/devices/key-challenge`, and answer it within ten minutes.",
  },
  invalid_issuer: {
    status: 422,
    title: "The issuer is not allowed",
    explanation:
      "The URL is malformed, does not use https, contains forbidden parts, or points to an address that is not globally reachable. The forbidden parts are a user name, a password, a query and a fragment.",
    remedy:
      "Copy the issuer from the provider's metadata. To allow providers in your own network, the operator sets GATEHOUSE_PROVIDER_ALLOWED_NETWORKS.",
  },
  role_not_assignable: {
    status: 422,
    title: "The role cannot be assigned",
    explanation: "The tenant has exactly one owner. The owner role is neither assigned nor removed, only transferred.",
    remedy: "Choose another role, or use POST /tenants/users/{id}/transfer-ownership.",
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
    title: "Email is not configured",
    explanation:
      "The request has `notify`, but the setting GATEHOUSE_SMTP_URL names no SMTP server. Nothing was changed. Without `notify`, create an enrolment link for the user and hand it over.",
    remedy:
      "Repeat the request without `notify`, create a link with `POST /tenants/users/{id}/enrolment-links`, and hand it over. To send email, set GATEHOUSE_SMTP_URL and GATEHOUSE_MAIL_FROM.",
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
