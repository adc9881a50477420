-- Tokens that were rotated away and still work until their grace ends, so that an agent can change over.
CREATE TABLE former_gateway_tokens (
  tenant_id  uuid NOT NULL,
  gateway_id uuid NOT NULL,
  token_hash bytea NOT NULL CONSTRAINT former_gateway_tokens_hash_unique UNIQUE,
  ends_at    timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, gateway_id, token_hash),
  FOREIGN KEY (tenant_id, gateway_id) REFERENCES gateways ON DELETE CASCADE
);

ALTER TABLE former_gateway_tokens ENABLE ROW LEVEL SECURITY;
ALTER TABLE former_gateway_tokens FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_fence ON former_gateway_tokens USING (tenant_id = current_tenant());
GRANT SELECT, INSERT, UPDATE, DELETE ON former_gateway_tokens TO gatehouse_app;
