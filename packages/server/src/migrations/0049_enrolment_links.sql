-- Enrolment links for any user, with a code and by mail (docs/decisions/0107, 0108).

-- A code is short enough to be guessed from a hash, so it is encrypted. Its first half finds the link; the second half
-- is the secret.
ALTER TABLE enrolment_links DROP COLUMN code_hash;
ALTER TABLE enrolment_links
  ADD COLUMN code_locator_hash bytea CONSTRAINT enrolment_links_code_unique UNIQUE,
  ADD COLUMN code_ciphertext bytea,
  -- The token of a link that is to be sent by mail, encrypted until the mail is sent or has failed.
  ADD COLUMN mailed_token_ciphertext bytea;

-- The presenter of a code reads only its own row, and learns the tenant from it.
CREATE POLICY presented_code ON enrolment_links FOR SELECT
  USING (code_locator_hash = decode(nullif(current_setting('app.presented_key_hash', true), ''), 'hex'));

-- Mails to users. Rows contain no content: it is derived from the user and the link when the mail is sent.
CREATE TABLE mails (
  tenant_id       uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id              uuid NOT NULL,
  created_at      timestamptz(3) NOT NULL,
  updated_at      timestamptz(3) NOT NULL,
  user_id         uuid NOT NULL,
  -- Null for a mail that names the page of sign-in, in a tenant with single sign-on only.
  link_id         uuid,
  status          text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'sent', 'failed')),
  failures        integer NOT NULL DEFAULT 0,
  error           text,
  -- When the next attempt is due, or until when a replica makes one; null once the mail is sent or has failed.
  next_attempt_at timestamptz(3),
  -- The attempt that a replica is making.
  attempt_id      uuid,
  PRIMARY KEY (tenant_id, id),
  CHECK ((status = 'pending') = (next_attempt_at IS NOT NULL)),
  FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE,
  FOREIGN KEY (tenant_id, link_id) REFERENCES enrolment_links (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX mails_by_user ON mails (tenant_id, user_id, id);
CREATE INDEX mails_by_link ON mails (tenant_id, link_id);
CREATE INDEX mails_due ON mails (next_attempt_at) WHERE next_attempt_at IS NOT NULL;

ALTER TABLE mails ENABLE ROW LEVEL SECURITY;
ALTER TABLE mails FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_fence ON mails USING (tenant_id = current_tenant());
-- Every replica looks for due mails of all tenants.
CREATE POLICY operator_follows ON mails FOR SELECT USING (is_operator() AND status = 'pending');
GRANT SELECT, INSERT, UPDATE, DELETE ON mails TO gatehouse_app;
