-- The mails of a tenant on a day, in UTC (docs/decisions/0262). They are counted apart from `mails`, because deleting
-- a user or a link deletes its mails.
CREATE TABLE mail_counts (
  tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  day       date NOT NULL,
  -- The hash of an address; empty for the count of all mails.
  recipient bytea NOT NULL,
  mails     integer NOT NULL,
  PRIMARY KEY (tenant_id, day, recipient)
);
ALTER TABLE mail_counts ENABLE ROW LEVEL SECURITY;
ALTER TABLE mail_counts FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_fence ON mail_counts USING (tenant_id = current_tenant());
GRANT SELECT, INSERT, UPDATE, DELETE ON mail_counts TO gatehouse_app;
