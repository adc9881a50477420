-- The link of devices: what their agents present (docs/decisions/0045).

CREATE TABLE device_tokens (
  tenant_id  uuid NOT NULL,
  device_id  uuid NOT NULL,
  -- SHA-256 of 256 random bits; the token itself is shown once, and kept nowhere.
  token_hash bytea NOT NULL CONSTRAINT device_tokens_hash_unique UNIQUE,
  created_at timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, device_id),
  FOREIGN KEY (tenant_id, device_id) REFERENCES devices ON DELETE CASCADE
);

ALTER TABLE device_tokens ENABLE ROW LEVEL SECURITY;
ALTER TABLE device_tokens FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_fence ON device_tokens USING (tenant_id = current_tenant());
-- Whoever presents a token may read its row, and no other, to learn whose it is.
CREATE POLICY presented_token ON device_tokens FOR SELECT
  USING (token_hash = decode(nullif(current_setting('app.presented_key_hash', true), ''), 'hex'));
GRANT SELECT, INSERT, UPDATE, DELETE ON device_tokens TO gatehouse_app;
