-- Sessions of the console: somebody signed in with an API key, and a cookie stands for that key until the session ends.
-- A session holds no rights of its own. When its key goes, so does the session.
CREATE TABLE console_sessions (
  tenant_id    uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id           uuid NOT NULL,
  -- SHA-256 of what the cookie holds: 256 random bits.
  token_hash   bytea NOT NULL CONSTRAINT console_sessions_hash_unique UNIQUE,
  api_key_id   uuid NOT NULL,
  -- The key's own hash, by which its permissions, expiry and source addresses are looked up at each request.
  key_hash     bytea NOT NULL,
  created_at   timestamptz(3) NOT NULL,
  -- Derived: written once a minute at most.
  last_used_at timestamptz(3) NOT NULL,
  expires_at   timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id, api_key_id) REFERENCES api_keys (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX console_sessions_by_key ON console_sessions (tenant_id, api_key_id, id);

ALTER TABLE console_sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE console_sessions FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_fence ON console_sessions USING (tenant_id = current_tenant());
-- Whoever presents a session's token may read that session's row, and no other, to learn which tenant it belongs to.
CREATE POLICY presented_session ON console_sessions FOR SELECT
  USING (token_hash = decode(nullif(current_setting('app.presented_session_hash', true), ''), 'hex'));

GRANT SELECT, INSERT, UPDATE, DELETE ON console_sessions TO gatehouse_app;
