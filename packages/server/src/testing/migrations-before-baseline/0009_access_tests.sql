-- Access tests: what should be so, whatever is changed.

CREATE TABLE access_tests (
  tenant_id     uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id            uuid NOT NULL,
  created_at    timestamptz(3) NOT NULL,
  updated_at    timestamptz(3) NOT NULL,
  version       integer NOT NULL DEFAULT 1,
  name          text NOT NULL,
  name_key      text COLLATE "C" GENERATED ALWAYS AS (lower(name)) STORED,
  description   text NOT NULL DEFAULT '',
  enforced      boolean NOT NULL DEFAULT false,
  subject_type  text NOT NULL CHECK (subject_type IN ('everyone', 'group', 'user', 'device')),
  -- Without a foreign key, as is resource_id: what a test names may be deleted, and the test says then that it is gone.
  subject_id    uuid,
  -- "any", "none", or {"posture": {…}}.
  device        jsonb NOT NULL,
  resource_type text NOT NULL CHECK (resource_type IN ('resource', 'address')),
  -- An IP address or a host name in canonical form, where the type is address.
  resource_id   text NOT NULL,
  -- {"protocol": …, "port": …}
  properties    jsonb NOT NULL DEFAULT '{}',
  -- {"sourceIp": …, "country": …, "time": …}; what is absent is left open.
  context       jsonb NOT NULL DEFAULT '{}',
  expected      text NOT NULL CHECK (expected IN ('allowed', 'denied')),
  PRIMARY KEY (tenant_id, id),
  CONSTRAINT access_tests_name_unique UNIQUE (tenant_id, name),
  CHECK ((subject_type = 'everyone') = (subject_id IS NULL))
);
CREATE INDEX access_tests_by_name ON access_tests (tenant_id, name_key, id);
CREATE INDEX access_tests_enforced ON access_tests (tenant_id, id) WHERE enforced;

CREATE TRIGGER count_inserted AFTER INSERT ON access_tests REFERENCING NEW TABLE AS changed_rows
  FOR EACH STATEMENT EXECUTE FUNCTION count_records();
CREATE TRIGGER count_deleted AFTER DELETE ON access_tests REFERENCING OLD TABLE AS changed_rows
  FOR EACH STATEMENT EXECUTE FUNCTION count_records();

ALTER TABLE access_tests ENABLE ROW LEVEL SECURITY;
ALTER TABLE access_tests FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_fence ON access_tests USING (tenant_id = current_tenant());

GRANT SELECT, INSERT, UPDATE, DELETE ON access_tests TO gatehouse_app;
