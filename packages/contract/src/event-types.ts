/** The types of events: a target type and a kind of change. */

/** Values of an audit entry's `target.type`. */
export const targetTypes = [
  "access-test",
  "address",
  "admission-rule",
  "api-key",
  "audit-record",
  "device",
  "domain",
  "enrolment-key",
  "enrolment-link",
  "gateway",
  "group",
  "identity-provider",
  "passkey",
  "policy",
  "protocol",
  "recovery-code",
  "resource",
  "session",
  "signing-key",
  "tenant",
  "tenant-settings",
  "user",
  "view",
  "webhook",
  "webhook-delivery",
] as const;
export type TargetType = (typeof targetTypes)[number];

export const changeKinds = ["created", "updated", "deleted"] as const;
export type ChangeKind = (typeof changeKinds)[number];

/** The `type` of a webhook message: `user.created`. */
export type EventType = `${TargetType}.${ChangeKind}`;
