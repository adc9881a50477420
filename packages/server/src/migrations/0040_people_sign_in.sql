-- People sign in (docs/decisions/0088). Secrets that are only compared are stored as SHA-256. Secrets that must be read
-- again are encrypted.

-- Slugs -----------------------------------------------------------------------------------------------------------

-- The name of a tenant in addresses: sign-in finds the tenant by it. Lower-case letters, digits and single hyphens.
CREATE FUNCTION tenant_slug(name text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(nullif(trim(BOTH '-' FROM left(trim(BOTH '-' FROM
    regexp_replace(lower(name COLLATE "C"), '[^a-z0-9]+', '-', 'g')), 40)), ''), 'tenant')
$$;

ALTER TABLE tenants ADD COLUMN slug text;
-- Row-level security binds the owner too.
ALTER TABLE tenants NO FORCE ROW LEVEL SECURITY;
-- Two names can have the same slug. All but the oldest tenant get the end of their id as a suffix.
UPDATE tenants AS item
SET slug = CASE WHEN given.place = 1 THEN given.slug ELSE given.slug || '-' || right(item.id::text, 12) END
FROM (
  SELECT id, tenant_slug(name) AS slug, row_number() OVER (PARTITION BY tenant_slug(name) ORDER BY created_at, id) AS place
  FROM tenants
) AS given
WHERE given.id = item.id;
ALTER TABLE tenants FORCE ROW LEVEL SECURITY;
ALTER TABLE tenants ALTER COLUMN slug SET NOT NULL;
ALTER TABLE tenants ADD CONSTRAINT tenants_slug_unique UNIQUE (slug);
ALTER TABLE tenants ADD CONSTRAINT tenants_slug_form CHECK (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$' AND length(slug) <= 60);

-- Settings of sign-in. A row exists once a tenant has changed a setting.
CREATE TABLE sign_in_settings (
  tenant_id             uuid PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
  updated_at            timestamptz(3) NOT NULL,
  version               integer NOT NULL DEFAULT 1,
  session_lifetime_seconds integer NOT NULL DEFAULT 43200 CHECK (session_lifetime_seconds BETWEEN 300 AND 2592000),
  session_idle_seconds     integer NOT NULL DEFAULT 3600 CHECK (session_idle_seconds BETWEEN 300 AND 2592000),
  -- Only identity providers and recovery codes are accepted.
  single_sign_on_only   boolean NOT NULL DEFAULT false
);

-- Actors ----------------------------------------------------------------------------------------------------------

ALTER TABLE audit_events DROP CONSTRAINT audit_events_actor_type_check;
ALTER TABLE audit_events ADD CONSTRAINT audit_events_actor_type_check
  CHECK (actor_type IN ('user', 'api-key', 'gateway', 'device', 'operator', 'system'));

-- The actor that made the key; null for keys from before this migration.
ALTER TABLE api_keys
  ADD COLUMN created_by_type text,
  ADD COLUMN created_by_id   uuid,
  ADD COLUMN created_by_name text;
CREATE INDEX api_keys_by_creator ON api_keys (tenant_id, created_by_id) WHERE created_by_id IS NOT NULL;

-- Identity providers ----------------------------------------------------------------------------------------------

CREATE TABLE identity_providers (
  tenant_id                uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id                       uuid NOT NULL,
  created_at               timestamptz(3) NOT NULL,
  updated_at               timestamptz(3) NOT NULL,
  version                  integer NOT NULL DEFAULT 1,
  name                     text NOT NULL,
  type                     text NOT NULL CHECK (type IN ('oidc', 'saml')),
  enabled                  boolean NOT NULL DEFAULT false,
  issuer                   text NOT NULL,
  client_id                text NOT NULL,
  client_secret_ciphertext bytea,
  -- Scopes, claim names and switches, as the API shows them.
  settings                 jsonb NOT NULL DEFAULT '{}',
  -- When a test sign-in with the present settings succeeded; null before that.
  tested_at                timestamptz(3),
  PRIMARY KEY (tenant_id, id),
  CONSTRAINT identity_providers_name_unique UNIQUE (tenant_id, name)
);

-- A person's account at a provider. It is never found by e-mail address.
CREATE TABLE external_identities (
  tenant_id    uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id           uuid NOT NULL,
  created_at   timestamptz(3) NOT NULL,
  provider_id  uuid NOT NULL,
  issuer       text NOT NULL,
  subject      text NOT NULL,
  user_id      uuid NOT NULL,
  last_used_at timestamptz(3),
  PRIMARY KEY (tenant_id, id),
  CONSTRAINT external_identities_subject_unique UNIQUE (tenant_id, provider_id, issuer, subject),
  FOREIGN KEY (tenant_id, provider_id) REFERENCES identity_providers (tenant_id, id) ON DELETE CASCADE,
  FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX external_identities_by_user ON external_identities (tenant_id, user_id);

-- Passkeys --------------------------------------------------------------------------------------------------------

CREATE TABLE passkeys (
  tenant_id       uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id              uuid NOT NULL,
  created_at      timestamptz(3) NOT NULL,
  user_id         uuid NOT NULL,
  name            text NOT NULL,
  credential_id   bytea NOT NULL CHECK (length(credential_id) BETWEEN 16 AND 1023),
  -- A passkey that is presented at sign-in is found by this hash, before its tenant is known.
  credential_hash bytea NOT NULL GENERATED ALWAYS AS (sha256(credential_id)) STORED CONSTRAINT passkeys_hash_unique UNIQUE,
  -- In COSE format.
  public_key      bytea NOT NULL,
  -- Of the last sign-in. Passkeys that are synchronised between devices report 0.
  counter         bigint NOT NULL DEFAULT 0,
  transports      text[] NOT NULL DEFAULT '{}',
  backed_up       boolean NOT NULL DEFAULT false,
  last_used_at    timestamptz(3),
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX passkeys_by_user ON passkeys (tenant_id, user_id, id);

-- Challenges that were answered. Each is accepted once; it expires after a few minutes.
CREATE TABLE used_challenges (
  tenant_id      uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  challenge_hash bytea NOT NULL,
  expires_at     timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, challenge_hash)
);

-- Sessions --------------------------------------------------------------------------------------------------------

-- Sessions of people. A session has the permissions that the user's roles give at each request. Sessions of the console
-- that represent an API key are in console_sessions.
CREATE TABLE sessions (
  tenant_id        uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id               uuid NOT NULL,
  user_id          uuid NOT NULL,
  -- SHA-256 of the cookie's value: 256 random bits.
  token_hash       bytea NOT NULL CONSTRAINT sessions_hash_unique UNIQUE,
  client           text NOT NULL CHECK (client IN ('console', 'cli')),
  method           text NOT NULL CHECK (method IN ('passkey', 'enrolment-link', 'recovery-code', 'oidc', 'saml')),
  provider_id      uuid,
  -- The provider's own session, for back-channel logout.
  provider_session text,
  created_at       timestamptz(3) NOT NULL,
  -- Derived, and written at most once a minute.
  last_used_at     timestamptz(3) NOT NULL,
  -- Of the sign-in.
  address          text NOT NULL,
  user_agent       text NOT NULL DEFAULT '',
  -- Of the latest authentication, with its context class and methods (RFC 9470, RFC 8176).
  auth_time        timestamptz(3) NOT NULL,
  acr              text,
  amr              text[] NOT NULL DEFAULT '{}',
  expires_at       timestamptz(3) NOT NULL,
  idle_seconds     integer NOT NULL CHECK (idle_seconds > 0),
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE,
  FOREIGN KEY (tenant_id, provider_id) REFERENCES identity_providers (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX sessions_by_user ON sessions (tenant_id, user_id, id);
CREATE INDEX sessions_by_provider ON sessions (tenant_id, provider_id, provider_session);

-- Sign-ins. Entries outlive their users.
CREATE TABLE sign_in_attempts (
  tenant_id     uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id            uuid NOT NULL,
  created_at    timestamptz(3) NOT NULL,
  user_id       uuid,
  -- The user's address at that time; null if the attempt did not identify a user.
  user_name     text,
  method        text NOT NULL,
  provider_id   uuid,
  provider_name text,
  address       text NOT NULL,
  user_agent    text NOT NULL DEFAULT '',
  outcome       text NOT NULL CHECK (outcome IN ('succeeded', 'failed')),
  -- Why the attempt failed, for administrators.
  reason        text,
  PRIMARY KEY (tenant_id, id),
  CHECK ((outcome = 'failed') = (reason IS NOT NULL))
);
CREATE INDEX sign_in_attempts_by_user ON sign_in_attempts (tenant_id, user_id, id);
CREATE INDEX sign_in_attempts_by_time ON sign_in_attempts (tenant_id, created_at);

-- Links and recovery codes ----------------------------------------------------------------------------------------

-- One-time links with which a person registers the first way to sign in. A link has a token, and a short code for
-- typing, whose attempts are limited.
CREATE TABLE enrolment_links (
  tenant_id       uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id              uuid NOT NULL,
  created_at      timestamptz(3) NOT NULL,
  user_id         uuid NOT NULL,
  token_hash      bytea NOT NULL CONSTRAINT enrolment_links_token_unique UNIQUE,
  -- SHA-256 of the code together with the link's id.
  code_hash       bytea,
  failed_attempts integer NOT NULL DEFAULT 0,
  expires_at      timestamptz(3) NOT NULL,
  used_at         timestamptz(3),
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX enrolment_links_by_user ON enrolment_links (tenant_id, user_id, id);

-- Signs its user in once, without any provider or passkey.
CREATE TABLE recovery_codes (
  tenant_id  uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  user_id    uuid NOT NULL,
  created_at timestamptz(3) NOT NULL,
  code_hash  bytea NOT NULL CONSTRAINT recovery_codes_hash_unique UNIQUE,
  PRIMARY KEY (tenant_id, user_id),
  FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);

-- Fences ----------------------------------------------------------------------------------------------------------

DO $$
DECLARE
  fenced text;
BEGIN
  FOREACH fenced IN ARRAY ARRAY['sign_in_settings', 'identity_providers', 'external_identities', 'passkeys',
    'used_challenges', 'sessions', 'sign_in_attempts', 'enrolment_links', 'recovery_codes'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', fenced);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', fenced);
    EXECUTE format('CREATE POLICY tenant_fence ON %I USING (tenant_id = current_tenant())', fenced);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO gatehouse_app', fenced);
  END LOOP;
END $$;

-- The presenter of a token, code or passkey reads only its own row, and learns the tenant from it.
CREATE POLICY presented_session ON sessions FOR SELECT
  USING (token_hash = decode(nullif(current_setting('app.presented_session_hash', true), ''), 'hex'));
CREATE POLICY presented_key ON passkeys FOR SELECT
  USING (credential_hash = decode(nullif(current_setting('app.presented_key_hash', true), ''), 'hex'));
CREATE POLICY presented_key ON enrolment_links FOR SELECT
  USING (token_hash = decode(nullif(current_setting('app.presented_key_hash', true), ''), 'hex'));
CREATE POLICY presented_key ON recovery_codes FOR SELECT
  USING (code_hash = decode(nullif(current_setting('app.presented_key_hash', true), ''), 'hex'));
