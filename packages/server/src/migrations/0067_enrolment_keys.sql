-- Keys with which servers are enrolled without a person, and tags of devices (docs/decisions/0129, 0130).

CREATE TABLE enrolment_keys (
  tenant_id    uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id           uuid NOT NULL,
  created_at   timestamptz(3) NOT NULL,
  updated_at   timestamptz(3) NOT NULL,
  version      integer NOT NULL DEFAULT 1,
  name         text NOT NULL,
  -- The first characters of the key.
  prefix       text NOT NULL,
  key_hash     bytea NOT NULL CONSTRAINT enrolment_keys_hash_unique UNIQUE,
  -- Devices belong to this user.
  user_id      uuid NOT NULL,
  tags         text[] NOT NULL DEFAULT '{}',
  max_uses     integer NOT NULL CHECK (max_uses BETWEEN 1 AND 10000),
  uses         integer NOT NULL DEFAULT 0 CHECK (uses BETWEEN 0 AND max_uses),
  expires_at   timestamptz(3) NOT NULL,
  last_used_at timestamptz(3),
  revoked_at   timestamptz(3),
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX enrolment_keys_by_user ON enrolment_keys (tenant_id, user_id, id);

ALTER TABLE enrolment_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE enrolment_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_fence ON enrolment_keys USING (tenant_id = current_tenant());
-- The presenter of a key reads only its own row, and learns the tenant from it.
CREATE POLICY presented_key ON enrolment_keys FOR SELECT
  USING (key_hash = decode(nullif(current_setting('app.presented_key_hash', true), ''), 'hex'));
GRANT SELECT, INSERT, UPDATE, DELETE ON enrolment_keys TO gatehouse_app;

ALTER TABLE devices
  ADD COLUMN tags text[] NOT NULL DEFAULT '{}' CHECK (cardinality(tags) <= 32),
  -- The key that enrolled the device. It remains when the key is deleted, so that the devices of a leaked key are found.
  ADD COLUMN enrolment_key_id uuid;
CREATE INDEX devices_by_enrolment_key ON devices (tenant_id, enrolment_key_id, id) WHERE enrolment_key_id IS NOT NULL;

ALTER TABLE audit_events DROP CONSTRAINT audit_events_actor_type_check;
ALTER TABLE audit_events ADD CONSTRAINT audit_events_actor_type_check
  CHECK (actor_type IN ('user', 'api-key', 'enrolment-key', 'gateway', 'device', 'operator', 'system')) NOT VALID;
