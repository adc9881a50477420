/** Rows of sign-in that no test can yet create through the API. */
import type { Database } from "../platform/db/database.ts";
import { statement } from "../platform/db/statement.ts";

const insertRows = statement<never, [tenantId: string, userId: string]>(
  "testing.insert_sign_in_rows",
  `WITH provider AS (
     INSERT INTO identity_providers (tenant_id, id, created_at, updated_at, name, type, issuer, client_id)
     VALUES ($1, gen_random_uuid(), now(), now(), 'Provider', 'oidc', 'https://login.example.com', 'gatehouse')
     RETURNING id
   ), identity AS (
     INSERT INTO external_identities (tenant_id, id, created_at, provider_id, issuer, subject, user_id)
     SELECT $1, gen_random_uuid(), now(), id, 'https://login.example.com', 'subject', $2 FROM provider
   ), mapped AS (
     INSERT INTO mapped_memberships (tenant_id, provider_id, user_id, group_id)
     SELECT $1, provider.id, $2, joined.group_id FROM provider, group_members AS joined
     WHERE joined.tenant_id = $1 AND joined.user_id = $2 LIMIT 1
   ), passkey AS (
     INSERT INTO passkeys (tenant_id, id, created_at, user_id, name, credential_id, public_key)
     VALUES ($1, gen_random_uuid(), now(), $2, 'Passkey', uuid_send(gen_random_uuid()), '\\x00')
   ), view AS (
     INSERT INTO views (tenant_id, id, created_at, updated_at, user_id, list, name, settings)
     VALUES ($1, gen_random_uuid(), now(), now(), $2, 'users', 'View', '{}')
   ), challenge AS (
     INSERT INTO used_challenges (tenant_id, challenge_hash, expires_at) VALUES ($1, '\\x00', now())
   ), attempt AS (
     INSERT INTO sign_in_attempts (tenant_id, id, created_at, method, address, outcome)
     VALUES ($1, gen_random_uuid(), now(), 'passkey', '192.0.2.1', 'succeeded')
   ), link AS (
     INSERT INTO enrolment_links (tenant_id, id, created_at, user_id, token_hash, expires_at)
     VALUES ($1, gen_random_uuid(), now(), $2, sha256(uuid_send(gen_random_uuid())), now())
   ), authorization_code AS (
     INSERT INTO authorization_codes (tenant_id, code_hash, session_id, oauth_client, program, created_at, expires_at)
     SELECT $1, sha256(uuid_send(gen_random_uuid())), id, 'gatehouse-cli', 'Command line', now(), now()
     FROM sessions WHERE tenant_id = $1 LIMIT 1
   ), mail AS (
     INSERT INTO mails (tenant_id, id, created_at, updated_at, user_id, next_attempt_at)
     VALUES ($1, gen_random_uuid(), now(), now(), $2, now())
   ), mails_of_day AS (
     INSERT INTO mail_counts (tenant_id, day, recipient, mails) VALUES ($1, now(), '', 1)
   ), code AS (
     INSERT INTO recovery_codes (tenant_id, user_id, created_at, code_hash)
     VALUES ($1, $2, now(), sha256(uuid_send(gen_random_uuid())))
   )
   INSERT INTO sign_in_settings (tenant_id, updated_at) VALUES ($1, now())`,
);

/** Inserts a row into each table of sign-in except for sessions. */
export async function insertSignInRows(database: Database, tenantId: string, userId: string): Promise<void> {
  await database.transaction({ kind: "tenant", tenantId }, (transaction) =>
    transaction.query(insertRows, tenantId, userId),
  );
}

const selectSealedTokens = statement<{ token: Buffer }, [tenantId: string]>(
  "testing.sealed_link_tokens",
  `SELECT mailed_token_ciphertext AS token FROM enrolment_links
   WHERE tenant_id = $1 AND mailed_token_ciphertext IS NOT NULL`,
);

/** The encrypted tokens of links that wait for their mails. */
export async function sealedLinkTokens(database: Database, tenantId: string): Promise<readonly Buffer[]> {
  const rows = await database.transaction({ kind: "tenant", tenantId }, ({ query }) =>
    query(selectSealedTokens, tenantId),
  );
  return rows.map(({ token }) => token);
}

const selectDays = statement<{ day: string }, [tenantId: string]>(
  "testing.counted_mail_days",
  "SELECT day::text AS day FROM mail_counts WHERE tenant_id = $1",
);
const makeOlder = statement<never, [tenantId: string]>(
  "testing.make_mail_counts_older",
  "UPDATE mail_counts SET day = current_date - 2 WHERE tenant_id = $1",
);

/** The days of a tenant's counts of mails, one for each count. */
export async function countedMailDays(database: Database, tenantId: string): Promise<readonly string[]> {
  const rows = await database.transaction({ kind: "tenant", tenantId }, ({ query }) => query(selectDays, tenantId));
  return rows.map(({ day }) => day);
}

/** Moves a tenant's counts of mails to a former day. */
export async function makeMailCountsOlder(database: Database, tenantId: string): Promise<void> {
  await database.transaction({ kind: "tenant", tenantId }, ({ query }) => query(makeOlder, tenantId));
}

const insertProvider = statement<never, [tenantId: string]>(
  "testing.insert_enabled_provider",
  `INSERT INTO identity_providers (tenant_id, id, created_at, updated_at, name, type, issuer, client_id, enabled, settings)
   VALUES ($1, gen_random_uuid(), now(), now(), 'Enabled', 'oidc', 'https://login.example.com', 'gatehouse', true,
           '{"scopes": [], "groupsClaim": "groups", "firstSignIn": "NEVER", "linkVerifiedEmail": false}')`,
);
const insertCode = statement<never, [tenantId: string, userId: string]>(
  "testing.insert_recovery_code",
  `INSERT INTO recovery_codes (tenant_id, user_id, created_at, code_hash)
   VALUES ($1, $2, now(), sha256(uuid_send(gen_random_uuid())))`,
);

/** Inserts an enabled provider, which is not tested. */
export async function insertEnabledProvider(database: Database, tenantId: string): Promise<void> {
  await database.transaction({ kind: "tenant", tenantId }, ({ query }) => query(insertProvider, tenantId));
}

/** Inserts a recovery code that nobody knows. */
export async function insertRecoveryCode(database: Database, tenantId: string, userId: string): Promise<void> {
  await database.transaction({ kind: "tenant", tenantId }, ({ query }) => query(insertCode, tenantId, userId));
}
