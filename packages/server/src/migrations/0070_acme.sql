-- The certificate that servers get by ACME (docs/decisions/0133). The tables belong to the installation, and are shared
-- by all replicas.

CREATE TABLE acme_certificates (
  directory_url text NOT NULL,
  host text NOT NULL,
  account_key_ciphertext bytea NOT NULL,
  -- PEM: the certificate and its intermediate certificates.
  certificate text,
  private_key_ciphertext bytea,
  not_before timestamptz,
  not_after timestamptz,
  -- The replica that orders a certificate has it until this time.
  ordering_until timestamptz,
  failures integer NOT NULL DEFAULT 0,
  failed_at timestamptz,
  error text,
  next_attempt_at timestamptz,
  PRIMARY KEY (directory_url, host),
  CHECK ((certificate IS NULL) = (private_key_ciphertext IS NULL)),
  CHECK ((certificate IS NULL) = (not_after IS NULL AND not_before IS NULL))
);

-- The proofs of orders that are under way. A certificate authority can ask any replica for them.
CREATE TABLE acme_challenges (
  token text PRIMARY KEY,
  host text NOT NULL,
  key_authorization text NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX acme_challenges_by_host ON acme_challenges (host);

ALTER TABLE acme_certificates ENABLE ROW LEVEL SECURITY;
ALTER TABLE acme_certificates FORCE ROW LEVEL SECURITY;
CREATE POLICY operator_only ON acme_certificates USING (is_operator());
ALTER TABLE acme_challenges ENABLE ROW LEVEL SECURITY;
ALTER TABLE acme_challenges FORCE ROW LEVEL SECURITY;
CREATE POLICY operator_only ON acme_challenges USING (is_operator());
GRANT SELECT, INSERT, UPDATE, DELETE ON acme_certificates, acme_challenges TO gatehouse_app;
