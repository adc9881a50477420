-- Programs of Gatehouse sign in for a person (docs/decisions/0113).

-- Sessions of programs ----------------------------------------------------------------------------------------------

-- A session of a program has an access token, whose hash is in token_hash, and a refresh token. Every refresh replaces
-- both. All refresh tokens of a session begin with the same random part, so that the second use of one is noticed.
ALTER TABLE sessions
  ADD COLUMN access_expires_at   timestamptz(3),
  ADD COLUMN refresh_family_hash bytea CONSTRAINT sessions_refresh_family_unique UNIQUE,
  ADD COLUMN refresh_hash        bytea,
  ADD COLUMN oauth_client        text;
-- No program had sessions before.
DELETE FROM sessions WHERE client = 'cli';
ALTER TABLE sessions ADD CONSTRAINT sessions_tokens CHECK (
  (client = 'cli') = (access_expires_at IS NOT NULL AND refresh_family_hash IS NOT NULL AND refresh_hash IS NOT NULL
                      AND oauth_client IS NOT NULL));
CREATE POLICY presented_refresh_token ON sessions FOR SELECT
  USING (refresh_family_hash = decode(nullif(current_setting('app.presented_session_hash', true), ''), 'hex'));

-- Codes -------------------------------------------------------------------------------------------------------------

-- What a person approved for a program, until the program exchanges the code for tokens. Used codes remain for a while,
-- so that the second use is noticed.
CREATE TABLE authorization_codes (
  tenant_id         uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  -- SHA-256 of the authorization code or the device code.
  code_hash         bytea NOT NULL CONSTRAINT authorization_codes_hash_unique UNIQUE,
  -- The session of the browser in which the person approved. If it ends, the code is void.
  session_id        uuid NOT NULL,
  oauth_client      text NOT NULL,
  -- The program and its machine, as the person saw them.
  program           text NOT NULL,
  -- Both are null for device codes.
  redirect_uri      text,
  code_challenge    text,
  created_at        timestamptz(3) NOT NULL,
  expires_at        timestamptz(3) NOT NULL,
  used_at           timestamptz(3),
  -- The session that the code was exchanged for. It can have ended.
  issued_session_id uuid,
  PRIMARY KEY (tenant_id, code_hash),
  FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE,
  CHECK ((redirect_uri IS NULL) = (code_challenge IS NULL))
);
CREATE INDEX authorization_codes_by_session ON authorization_codes (tenant_id, session_id);
ALTER TABLE authorization_codes ENABLE ROW LEVEL SECURITY;
ALTER TABLE authorization_codes FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_fence ON authorization_codes USING (tenant_id = current_tenant());
CREATE POLICY presented_key ON authorization_codes FOR SELECT
  USING (code_hash = decode(nullif(current_setting('app.presented_key_hash', true), ''), 'hex'));
GRANT SELECT, INSERT, UPDATE, DELETE ON authorization_codes TO gatehouse_app;

-- Requests of programs without a browser (RFC 8628). Nobody knows their tenant until a person answers. They contain no
-- data of a tenant.
CREATE TABLE device_requests (
  device_code_hash bytea PRIMARY KEY,
  user_code_hash   bytea NOT NULL UNIQUE,
  oauth_client     text NOT NULL,
  -- The machine, according to the program.
  machine          text NOT NULL,
  address          text NOT NULL,
  max_age          integer,
  created_at       timestamptz(3) NOT NULL,
  expires_at       timestamptz(3) NOT NULL,
  polled_at        timestamptz(3),
  answer           text CHECK (answer IN ('approved', 'denied'))
);
CREATE INDEX device_requests_by_address ON device_requests (address);
CREATE INDEX device_requests_by_expiry ON device_requests (expires_at);
ALTER TABLE device_requests ENABLE ROW LEVEL SECURITY;
ALTER TABLE device_requests FORCE ROW LEVEL SECURITY;
CREATE POLICY operator_only ON device_requests USING (is_operator());
-- The program presents the device code, and the person the user code.
CREATE POLICY presented_key ON device_requests
  USING (decode(nullif(current_setting('app.presented_key_hash', true), ''), 'hex') IN (device_code_hash, user_code_hash));
GRANT SELECT, INSERT, UPDATE, DELETE ON device_requests TO gatehouse_app;
