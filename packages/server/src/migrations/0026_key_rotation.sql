-- Rotation of keys (docs/decisions/0070).

-- The keys that sign the audit records. The last one signs; each was signed by the one before.
CREATE TABLE audit_keys (
  number                 integer PRIMARY KEY CHECK (number > 0),
  created_at             timestamptz(3) NOT NULL,
  -- 32 bytes.
  public_key             bytea NOT NULL,
  -- The seed, encrypted with the master key.
  private_key_ciphertext bytea NOT NULL,
  -- The hand-over, signed by the previous key and by this one; null for the first key.
  previous_signature     bytea,
  own_signature          bytea
);
ALTER TABLE audit_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY operator_only ON audit_keys USING (is_operator());
GRANT SELECT, INSERT ON audit_keys TO gatehouse_app;
-- Earlier migrations may have changed what new tables are granted.
REVOKE UPDATE, DELETE ON audit_keys FROM gatehouse_app;
-- After a rotation of the master key, the same secrets are encrypted with the new one.
GRANT UPDATE (private_key_ciphertext) ON audit_keys TO gatehouse_app;
GRANT UPDATE (value) ON installation TO gatehouse_app;

-- The statements by which a tenant's signing key named its successor, for agents that have pinned an earlier key.
CREATE TABLE signing_key_handovers (
  tenant_id  uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  number     integer NOT NULL,
  created_at timestamptz(3) NOT NULL,
  -- 32 bytes each.
  from_key   bytea NOT NULL,
  to_key     bytea NOT NULL,
  -- By the first key.
  signature  bytea NOT NULL,
  PRIMARY KEY (tenant_id, number)
);
ALTER TABLE signing_key_handovers ENABLE ROW LEVEL SECURITY;
ALTER TABLE signing_key_handovers FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_fence ON signing_key_handovers USING (tenant_id = current_tenant());
GRANT SELECT, INSERT ON signing_key_handovers TO gatehouse_app;
REVOKE UPDATE, DELETE ON signing_key_handovers FROM gatehouse_app;
