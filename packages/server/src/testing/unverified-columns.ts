/** Columns that `gatehouse audit verify --live` does not compare, with the reasons. */

/** Columns of every table. */
export const unverifiedEverywhere: Readonly<Record<string, string>> = {
  created_at: "Nothing is decided by it; the entry of the creation has its own time.",
  updated_at: "Nothing is decided by it; the entry of the change has its own time.",
  version: "It only detects concurrent writes.",
};

type Reason = string;

const secret = "Entries contain nothing of a secret, so a replaced secret or hash is not found.";
const observed = "It changes without an entry, because it is observed.";
const signIn = "Signing in has no entry; an inserted or prolonged session is not found.";
const moved = "A deleted row only takes away what it granted.";
const transient = "Its rows are short-lived and have no entries.";
const derived = "It is derived from other data.";
const log = "The log of sign-ins is not part of the audit record.";

/** Columns by table and reason. `*` stands for all columns of a table. */
export const unverifiedColumns: Readonly<Record<string, Readonly<Record<Reason, readonly string[]>>>> = {
  access_late_effects: { "The seals cover it; tampering.test.ts edits it.": ["*"] },
  access_tests: { "It is only shown.": ["description"] },
  address_protocols: { "It only orders what is shown.": ["position"] },
  addresses: { [derived]: ["is_ip"] },
  admission_rules: { "It only chooses how the rule is shown.": ["has_time_constraint"] },
  api_keys: { [secret]: ["key_hash"], [observed]: ["last_used_at"] },
  audit_checkpoints: {
    "Heads outside the database show a missing checkpoint; so do entries that stay unsigned.": [
      "position",
      "tenant_id",
    ],
  },
  audit_stubs: { "Its signature covers it; verify-audit.test.ts forges one.": ["*"] },
  authorization_codes: { [transient]: ["*"] },
  console_sessions: { [signIn]: ["*"] },
  device_gateway_sources: { [observed]: ["*"] },
  device_links: { [observed]: ["*"] },
  device_sessions: {
    "It explains the end of a session.": ["end_reason", "ended_by"],
    "It only finds the sessions that a provider ends.": ["provider_session"],
    "Entries show only the end that follows from it.": ["sign_in_required"],
  },
  device_tokens: { [secret]: ["*"] },
  devices: { [observed]: ["last_connection"] },
  enrolment_keys: { [secret]: ["key_hash"] },
  enrolment_links: {
    [secret]: ["token_hash", "code_locator_hash", "code_ciphertext", "mailed_token_ciphertext"],
    "Only the entry of the passkey shows that a link was used.": ["used_at"],
    "Wrong codes have no entries.": ["failed_attempts"],
    "The actor of the entry is the creator.": ["created_by_type", "created_by_id"],
    [moved]: ["tenant_id"],
  },
  external_identities: { "Entries show only the provider and the user; verify-audit.test.ts inserts a row.": ["*"] },
  former_gateway_tokens: { [secret]: ["*"] },
  gateway_link_replicas: { [derived]: ["*"] },
  gateway_links: { [observed]: ["*"] },
  gateways: {
    [secret]: ["token_ciphertext", "token_hash"],
    [observed]: ["agent_version", "deployed_on", "error", "last_online", "reported_endpoint", "status"],
    "Entries show maintenance as a status, which agents change too.": ["maintenance_since"],
  },
  group_roles: { [moved]: ["tenant_id"] },
  groups: { "Entries contain the lifetime, not when it was first set.": ["device_sessions_since"] },
  idempotent_replies: { [transient]: ["*"] },
  idempotent_reply_totals: { [derived]: ["*"] },
  identity_providers: { "It only shows that a test sign-in succeeded.": ["tested_at"] },
  mails: { [transient]: ["*"] },
  mail_counts: { [transient]: ["*"] },
  mapped_memberships: { "It only marks memberships that a provider may end.": ["*"] },
  outbox: { "Its rows notify replicas, and are deleted soon.": ["*"] },
  passkeys: {
    "Each use changes it.": ["backed_up", "counter", "last_used_at"],
    "It only helps browsers.": ["transports"],
  },
  policies: { "It is only shown.": ["description"] },
  protocols: { "It is only shown.": ["name", "type"] },
  record_counts: { [derived]: ["*"] },
  recovery_codes: { "Entries contain no codes; verify-audit.test.ts inserts a row.": ["*"] },
  resources: { "It is only shown.": ["description"] },
  roles: {
    "It is only shown.": ["name", "description", "deleteable"],
    "The holders only lose the role.": ["id"],
  },
  sessions: { [signIn]: ["*"] },
  sign_in_attempts: { [log]: ["*"] },
  sign_in_settings: { "Without the row, the defaults hold.": ["tenant_id"] },
  signing_key_handovers: { "Each key signs the next one, and agents verify the signatures.": ["*"] },
  signing_keys: { "Agents refuse a key that the previous one did not sign.": ["*"] },
  tenant_generations: { "If it is unset, the history is covered once more.": ["history_sealed"] },
  tenant_observations: { [derived]: ["*"] },
  tenant_settings: { "Entries contain the lifetime, not when it was first set.": ["device_sessions_since"] },
  tenants: { "A tenant with another id has no record, which is found.": ["id"] },
  tunnel_addresses: { "Tunnel addresses are assigned without entries.": ["*"] },
  tunnel_networks: { "Tunnel addresses are assigned without entries.": ["*"] },
  used_challenges: { "A deleted row lets a challenge be used again, until it expires.": ["*"] },
  user_roles: { [moved]: ["tenant_id"] },
  users: {
    [observed]: ["last_connection"],
    "Only an invitation that has not been accepted depends on it.": ["invitation_expires_at"],
    "Reactivation restores it, with an entry.": ["status_before"],
  },
  views: { "Views only store how a person filters lists.": ["*"] },
  webhook_deliveries: { [transient]: ["*"] },
  webhook_secrets: { [secret]: ["*"] },
  webhooks: { [observed]: ["failing_since", "behind_since", "cursor_event_id", "cursor_generation"] },
};

/** Tables of which `--live` does not find deleted rows, by reason. */
export const unverifiedDeletions: Readonly<Record<Reason, readonly string[]>> = {
  "Other checks of the record find it; verify-audit.test.ts and tampering.test.ts delete such rows.": [
    "access_late_effects",
    "audit_checkpoints",
    "audit_stubs",
    "tenants",
  ],
  "It only takes away what the row granted.": [
    "console_sessions",
    "device_tokens",
    "enrolment_links",
    "external_identities",
    "former_gateway_tokens",
    "group_roles",
    "recovery_codes",
    "sessions",
    "user_roles",
    "webhook_secrets",
  ],
  [transient]: [
    "authorization_codes",
    "idempotent_replies",
    "mails",
    "outbox",
    "used_challenges",
    "webhook_deliveries",
  ],
  [observed]: ["device_gateway_sources", "device_links", "gateway_links"],
  [derived]: [
    "gateway_link_replicas",
    "idempotent_reply_totals",
    "mail_counts",
    "record_counts",
    "tenant_observations",
  ],
  [log]: ["sign_in_attempts"],
  "Without the row, the defaults hold. Missing settings are found if they had other values.": ["sign_in_settings"],
  "Agents refuse keys that the previous key did not sign.": ["signing_key_handovers", "signing_keys"],
  "Tunnel addresses are assigned without entries.": ["tunnel_addresses", "tunnel_networks"],
  "It only marks memberships that a provider may end.": ["mapped_memberships"],
  "Views only store how a person filters lists.": ["views"],
};

/** Tables with ids of which `--live` does not find inserted rows, by reason. */
export const unverifiedInsertions: Readonly<Record<Reason, readonly string[]>> = {
  [signIn]: ["console_sessions", "sessions"],
  "verify-audit-live.test.ts inserts a row, which is found.": ["external_identities"],
  "A protocol grants nothing until a resource uses it, and that is found.": ["protocols"],
  [transient]: ["mails", "webhook_deliveries"],
  [secret]: ["webhook_secrets"],
  [log]: ["sign_in_attempts"],
  "Views only store how a person filters lists.": ["views"],
};
