-- The foundation: tenants and everything in them.
--
-- Every table with a tenant_id is fenced three ways:
--   1. primary and foreign keys that include the tenant, so that no row can refer to another tenant's;
--   2. forced row-level security, for a role that cannot bypass it (the loop at the end of this file);
--   3. transactions that set app.tenant_id for themselves (platform/tenancy).
-- After a transaction with set_config the setting reads as '', hence nullif() in the policies.
--
-- Ids are UUIDv7 made by the server, so an index on (tenant_id, id) is in order of creation.
-- `version` is what a record's ETag shows: raised by commands on the record, never by derived values.
-- Foreign keys that keep a record from being deleted are DEFERRABLE: where a whole tenant goes, they are checked at the end.
-- `name_key` is what names sort by: without regard to case, by code point, the same on every platform.

CREATE FUNCTION current_tenant() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
  RETURN nullif(current_setting('app.tenant_id', true), '')::uuid;

CREATE FUNCTION is_operator() RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
  RETURN coalesce(current_setting('app.operator', true), '') = 'on';

-- The installation ------------------------------------------------------------------------------------------------

-- Facts about the installation as a whole, such as the SHA-256 of a generated operator key.
CREATE TABLE installation (
  name  text PRIMARY KEY,
  value bytea NOT NULL
);

CREATE TABLE tenants (
  id          uuid PRIMARY KEY,
  created_at  timestamptz(3) NOT NULL,
  updated_at  timestamptz(3) NOT NULL,
  version     integer NOT NULL DEFAULT 1,
  name        text NOT NULL CONSTRAINT tenants_name_unique UNIQUE,
  name_key    text COLLATE "C" GENERATED ALWAYS AS (lower(name)) STORED,
  owner_email text NOT NULL
);
CREATE INDEX tenants_by_name ON tenants (name_key, id);

-- What the operator did. It outlives the tenants it tells of.
CREATE TABLE operator_events (
  id             uuid PRIMARY KEY,
  created_at     timestamptz(3) NOT NULL,
  actor_type     text NOT NULL,
  actor_name     text NOT NULL,
  operation      text NOT NULL,
  tenant_id      uuid NOT NULL,
  before         jsonb,
  after          jsonb,
  request_id     text NOT NULL,
  source_address text
);

-- People ----------------------------------------------------------------------------------------------------------

CREATE TABLE roles (
  tenant_id   uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id          uuid NOT NULL,
  created_at  timestamptz(3) NOT NULL,
  updated_at  timestamptz(3) NOT NULL,
  version     integer NOT NULL DEFAULT 1,
  name        text NOT NULL,
  description text NOT NULL DEFAULT '',
  type        text NOT NULL CHECK (type IN ('OWNER', 'ADMIN', 'DEFAULT', 'BASIC', 'BILLING', 'AUDITOR', 'SUPPORT')),
  deleteable  boolean NOT NULL DEFAULT false,
  PRIMARY KEY (tenant_id, id),
  CONSTRAINT roles_type_unique UNIQUE (tenant_id, type)
);

CREATE TABLE users (
  tenant_id             uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id                    uuid NOT NULL,
  created_at            timestamptz(3) NOT NULL,
  updated_at            timestamptz(3) NOT NULL,
  version               integer NOT NULL DEFAULT 1,
  email                 text NOT NULL,
  email_key             text COLLATE "C" GENERATED ALWAYS AS (lower(email)) STORED,
  status                text NOT NULL CHECK (status IN ('pending', 'active', 'inactive')),
  -- What reactivation restores; set exactly while the user is inactive.
  status_before         text CHECK (status_before IN ('pending', 'active')),
  first_name            text NOT NULL DEFAULT '',
  last_name             text NOT NULL DEFAULT '',
  first_name_key        text COLLATE "C" GENERATED ALWAYS AS (nullif(lower(first_name), '')) STORED,
  last_name_key         text COLLATE "C" GENERATED ALWAYS AS (nullif(lower(last_name), '')) STORED,
  image                 text NOT NULL DEFAULT '',
  is_owner              boolean NOT NULL DEFAULT false,
  max_devices           integer CHECK (max_devices >= 0),
  attributes            jsonb NOT NULL DEFAULT '{}',
  last_connection       timestamptz(3),
  invitation_expires_at timestamptz(3),
  PRIMARY KEY (tenant_id, id),
  CONSTRAINT users_email_unique UNIQUE (tenant_id, email_key),
  CHECK ((status = 'inactive') = (status_before IS NOT NULL))
);
CREATE UNIQUE INDEX users_one_owner ON users (tenant_id) WHERE is_owner;

CREATE TABLE user_roles (
  tenant_id uuid NOT NULL,
  user_id   uuid NOT NULL,
  role_id   uuid NOT NULL,
  PRIMARY KEY (tenant_id, user_id, role_id),
  FOREIGN KEY (tenant_id, user_id) REFERENCES users ON DELETE CASCADE,
  FOREIGN KEY (tenant_id, role_id) REFERENCES roles ON DELETE CASCADE
);
CREATE INDEX user_roles_by_role ON user_roles (tenant_id, role_id, user_id);

CREATE TABLE groups (
  tenant_id             uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id                    uuid NOT NULL,
  created_at            timestamptz(3) NOT NULL,
  updated_at            timestamptz(3) NOT NULL,
  version               integer NOT NULL DEFAULT 1,
  name                  text NOT NULL,
  name_key              text COLLATE "C" GENERATED ALWAYS AS (lower(name)) STORED,
  description           text NOT NULL DEFAULT '',
  max_devices           integer NOT NULL DEFAULT 5 CHECK (max_devices >= 0),
  is_default            boolean NOT NULL DEFAULT false,
  is_saml_default_group boolean NOT NULL DEFAULT false,
  idp_mapping           text[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (tenant_id, id),
  CONSTRAINT groups_name_unique UNIQUE (tenant_id, name)
);
CREATE INDEX groups_by_name ON groups (tenant_id, name_key, id);
CREATE UNIQUE INDEX groups_one_default ON groups (tenant_id) WHERE is_default;
CREATE UNIQUE INDEX groups_one_saml_default ON groups (tenant_id) WHERE is_saml_default_group;

CREATE TABLE group_roles (
  tenant_id uuid NOT NULL,
  group_id  uuid NOT NULL,
  role_id   uuid NOT NULL,
  PRIMARY KEY (tenant_id, group_id, role_id),
  FOREIGN KEY (tenant_id, group_id) REFERENCES groups ON DELETE CASCADE,
  FOREIGN KEY (tenant_id, role_id) REFERENCES roles ON DELETE CASCADE
);
CREATE INDEX group_roles_by_role ON group_roles (tenant_id, role_id);

CREATE TABLE group_members (
  tenant_id uuid NOT NULL,
  user_id   uuid NOT NULL,
  group_id  uuid NOT NULL,
  PRIMARY KEY (tenant_id, user_id, group_id),
  FOREIGN KEY (tenant_id, user_id) REFERENCES users ON DELETE CASCADE,
  FOREIGN KEY (tenant_id, group_id) REFERENCES groups ON DELETE CASCADE
);
CREATE INDEX group_members_by_group ON group_members (tenant_id, group_id, user_id);

CREATE TABLE devices (
  tenant_id       uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id              uuid NOT NULL,
  created_at      timestamptz(3) NOT NULL,
  updated_at      timestamptz(3) NOT NULL,
  version         integer NOT NULL DEFAULT 1,
  name            text NOT NULL,
  name_key        text COLLATE "C" GENERATED ALWAYS AS (lower(name)) STORED,
  -- Null once the user was deleted: the record stays.
  user_id         uuid,
  active          boolean NOT NULL DEFAULT true,
  hardware_id     text NOT NULL,
  public_key      text NOT NULL,
  app_version     text NOT NULL DEFAULT '',
  os              text NOT NULL DEFAULT '',
  os_version      text NOT NULL DEFAULT '',
  posture         jsonb,
  last_connection timestamptz(3),
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id, user_id) REFERENCES users ON DELETE SET NULL (user_id),
  CONSTRAINT devices_public_key_unique UNIQUE (tenant_id, public_key)
);
CREATE INDEX devices_by_user ON devices (tenant_id, user_id, id);
CREATE INDEX devices_by_name ON devices (tenant_id, name_key, id);

-- The network -----------------------------------------------------------------------------------------------------

CREATE TABLE gateways (
  tenant_id        uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id               uuid NOT NULL,
  created_at       timestamptz(3) NOT NULL,
  updated_at       timestamptz(3) NOT NULL,
  version          integer NOT NULL DEFAULT 1,
  name             text NOT NULL,
  description      text NOT NULL DEFAULT '',
  wireguard_port   integer NOT NULL CHECK (wireguard_port BETWEEN 1 AND 65535),
  status           text NOT NULL DEFAULT 'PENDING'
                   CHECK (status IN ('PENDING', 'ONLINE', 'OFFLINE', 'MAINTENANCE', 'ERROR')),
  error            text NOT NULL DEFAULT '',
  -- AES-256-GCM under the master key; the hash finds the gateway that presents the token.
  token_ciphertext bytea NOT NULL,
  token_hash       bytea NOT NULL CONSTRAINT gateways_token_unique UNIQUE,
  deployed_on      timestamptz(3),
  last_online      timestamptz(3),
  relay_enabled    boolean NOT NULL DEFAULT false,
  endpoint         text NOT NULL DEFAULT '',
  PRIMARY KEY (tenant_id, id),
  CONSTRAINT gateways_name_unique UNIQUE (tenant_id, name)
);

CREATE TABLE protocols (
  tenant_id         uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id                uuid NOT NULL,
  created_at        timestamptz(3) NOT NULL,
  updated_at        timestamptz(3) NOT NULL,
  version           integer NOT NULL DEFAULT 1,
  name              text NOT NULL,
  type              text NOT NULL CHECK (type IN ('ALL', 'PREDEFINED', 'CUSTOM')),
  -- [{"protocol": "TCP", "port": "443"}, …] as the API shows it.
  network_protocols json NOT NULL,
  PRIMARY KEY (tenant_id, id),
  CONSTRAINT protocols_name_unique UNIQUE (tenant_id, name)
);

CREATE TABLE resources (
  tenant_id           uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id                  uuid NOT NULL,
  created_at          timestamptz(3) NOT NULL,
  updated_at          timestamptz(3) NOT NULL,
  version             integer NOT NULL DEFAULT 1,
  name                text NOT NULL,
  name_key            text COLLATE "C" GENERATED ALWAYS AS (lower(name)) STORED,
  type                text NOT NULL CHECK (type IN ('PRIVATE', 'SAAS', 'INTERNET')),
  load_balancing_mode text NOT NULL DEFAULT 'MANUAL' CHECK (load_balancing_mode IN ('MANUAL', 'AUTOMATIC')),
  description         text NOT NULL DEFAULT '',
  PRIMARY KEY (tenant_id, id),
  CONSTRAINT resources_name_unique UNIQUE (tenant_id, name)
);
CREATE INDEX resources_by_name ON resources (tenant_id, name_key, id);
CREATE INDEX resources_by_type_and_name ON resources (tenant_id, type, name_key, id);

CREATE TABLE addresses (
  tenant_id   uuid NOT NULL,
  id          uuid NOT NULL,
  created_at  timestamptz(3) NOT NULL,
  updated_at  timestamptz(3) NOT NULL,
  version     integer NOT NULL DEFAULT 1,
  resource_id uuid NOT NULL,
  address     text NOT NULL,
  is_ip       boolean NOT NULL,
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id, resource_id) REFERENCES resources ON DELETE CASCADE,
  CONSTRAINT addresses_once_in_resource UNIQUE (tenant_id, resource_id, address)
);

CREATE TABLE address_protocols (
  tenant_id   uuid NOT NULL,
  address_id  uuid NOT NULL,
  protocol_id uuid NOT NULL,
  position    smallint NOT NULL,
  PRIMARY KEY (tenant_id, address_id, protocol_id),
  FOREIGN KEY (tenant_id, address_id) REFERENCES addresses ON DELETE CASCADE,
  CONSTRAINT address_protocols_protocol_fkey FOREIGN KEY (tenant_id, protocol_id) REFERENCES protocols DEFERRABLE
);
CREATE INDEX address_protocols_by_protocol ON address_protocols (tenant_id, protocol_id, address_id);

CREATE TABLE resource_gateways (
  tenant_id   uuid NOT NULL,
  resource_id uuid NOT NULL,
  gateway_id  uuid NOT NULL,
  -- 0 is tried first.
  priority    smallint NOT NULL,
  PRIMARY KEY (tenant_id, resource_id, gateway_id),
  FOREIGN KEY (tenant_id, resource_id) REFERENCES resources ON DELETE CASCADE,
  CONSTRAINT resource_gateways_gateway_fkey FOREIGN KEY (tenant_id, gateway_id) REFERENCES gateways ON DELETE CASCADE
);
CREATE INDEX resource_gateways_by_gateway ON resource_gateways (tenant_id, gateway_id, resource_id);

-- Policies --------------------------------------------------------------------------------------------------------

CREATE TABLE admission_rules (
  tenant_id           uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id                  uuid NOT NULL,
  created_at          timestamptz(3) NOT NULL,
  updated_at          timestamptz(3) NOT NULL,
  version             integer NOT NULL DEFAULT 1,
  name                text NOT NULL,
  type                text NOT NULL CHECK (type IN ('ALLOW', 'DENY', 'CUSTOM')),
  has_time_constraint boolean NOT NULL DEFAULT false,
  rule                text CHECK ((rule IS NOT NULL) = (type = 'CUSTOM')),
  PRIMARY KEY (tenant_id, id),
  CONSTRAINT admission_rules_name_unique UNIQUE (tenant_id, name)
);
CREATE UNIQUE INDEX admission_rules_built_in ON admission_rules (tenant_id, type) WHERE type <> 'CUSTOM';

CREATE TABLE policies (
  tenant_id     uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id            uuid NOT NULL,
  created_at    timestamptz(3) NOT NULL,
  updated_at    timestamptz(3) NOT NULL,
  version       integer NOT NULL DEFAULT 1,
  name          text NOT NULL,
  name_key      text COLLATE "C" GENERATED ALWAYS AS (lower(name)) STORED,
  type          text NOT NULL CHECK (type IN ('PRIVATE', 'SAAS', 'INTERNET', 'SITETOSITE')),
  -- The policy's place among those of its type: 1, 2, 3 … without gaps; the default policy is last.
  "order"       integer NOT NULL,
  is_default    boolean NOT NULL DEFAULT false,
  active        boolean NOT NULL DEFAULT true,
  action        boolean NOT NULL,
  mode          text CHECK (mode IN ('LOCAL', 'RESTRICTED', 'INTERNET_ACCESS_POINT')),
  all_groups    boolean NOT NULL DEFAULT false,
  all_users     boolean NOT NULL DEFAULT false,
  all_devices   boolean NOT NULL DEFAULT false,
  all_resources boolean NOT NULL DEFAULT false,
  source_ips    text[] NOT NULL DEFAULT '{}',
  rule_id       uuid NOT NULL,
  description   text NOT NULL DEFAULT '',
  PRIMARY KEY (tenant_id, id),
  CONSTRAINT policies_rule_fkey FOREIGN KEY (tenant_id, rule_id) REFERENCES admission_rules DEFERRABLE,
  CONSTRAINT policies_name_unique UNIQUE (tenant_id, name),
  CONSTRAINT policies_order_unique UNIQUE (tenant_id, type, "order") DEFERRABLE INITIALLY DEFERRED
);
CREATE UNIQUE INDEX policies_one_default ON policies (tenant_id, type) WHERE is_default;
CREATE INDEX policies_by_name ON policies (tenant_id, name_key, id);
CREATE INDEX policies_by_rule ON policies (tenant_id, rule_id);

CREATE TABLE policy_groups (
  tenant_id uuid NOT NULL,
  policy_id uuid NOT NULL,
  group_id  uuid NOT NULL,
  PRIMARY KEY (tenant_id, policy_id, group_id),
  FOREIGN KEY (tenant_id, policy_id) REFERENCES policies ON DELETE CASCADE,
  CONSTRAINT policy_groups_group_fkey FOREIGN KEY (tenant_id, group_id) REFERENCES groups ON DELETE CASCADE
);
CREATE INDEX policy_groups_by_group ON policy_groups (tenant_id, group_id, policy_id);

CREATE TABLE policy_users (
  tenant_id uuid NOT NULL,
  policy_id uuid NOT NULL,
  user_id   uuid NOT NULL,
  PRIMARY KEY (tenant_id, policy_id, user_id),
  FOREIGN KEY (tenant_id, policy_id) REFERENCES policies ON DELETE CASCADE,
  CONSTRAINT policy_users_user_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES users ON DELETE CASCADE
);
CREATE INDEX policy_users_by_user ON policy_users (tenant_id, user_id, policy_id);

CREATE TABLE policy_devices (
  tenant_id uuid NOT NULL,
  policy_id uuid NOT NULL,
  device_id uuid NOT NULL,
  PRIMARY KEY (tenant_id, policy_id, device_id),
  FOREIGN KEY (tenant_id, policy_id) REFERENCES policies ON DELETE CASCADE,
  CONSTRAINT policy_devices_device_fkey FOREIGN KEY (tenant_id, device_id) REFERENCES devices ON DELETE CASCADE
);
CREATE INDEX policy_devices_by_device ON policy_devices (tenant_id, device_id, policy_id);

CREATE TABLE policy_resources (
  tenant_id   uuid NOT NULL,
  policy_id   uuid NOT NULL,
  resource_id uuid NOT NULL,
  PRIMARY KEY (tenant_id, policy_id, resource_id),
  FOREIGN KEY (tenant_id, policy_id) REFERENCES policies ON DELETE CASCADE,
  CONSTRAINT policy_resources_resource_fkey FOREIGN KEY (tenant_id, resource_id) REFERENCES resources ON DELETE CASCADE
);
CREATE INDEX policy_resources_by_resource ON policy_resources (tenant_id, resource_id, policy_id);

-- No cascade from gateways: a list that lost its last gateway would allow all of them.
CREATE TABLE policy_gateways (
  tenant_id  uuid NOT NULL,
  policy_id  uuid NOT NULL,
  gateway_id uuid NOT NULL,
  position   smallint NOT NULL,
  PRIMARY KEY (tenant_id, policy_id, gateway_id),
  FOREIGN KEY (tenant_id, policy_id) REFERENCES policies ON DELETE CASCADE,
  CONSTRAINT policy_gateways_gateway_fkey FOREIGN KEY (tenant_id, gateway_id) REFERENCES gateways DEFERRABLE
);
CREATE INDEX policy_gateways_by_gateway ON policy_gateways (tenant_id, gateway_id, policy_id);

-- Keys ------------------------------------------------------------------------------------------------------------

CREATE TABLE api_keys (
  tenant_id    uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id           uuid NOT NULL,
  created_at   timestamptz(3) NOT NULL,
  updated_at   timestamptz(3) NOT NULL,
  version      integer NOT NULL DEFAULT 1,
  name         text NOT NULL,
  prefix       text NOT NULL,
  key_hash     bytea NOT NULL CONSTRAINT api_keys_hash_unique UNIQUE,
  permissions  text[] NOT NULL,
  source_ips   text[] NOT NULL DEFAULT '{}',
  expires_at   timestamptz(3),
  last_used_at timestamptz(3),
  -- Kept when the replacement is deleted: the old key was rotated all the same.
  replaced_by  uuid,
  PRIMARY KEY (tenant_id, id)
);

-- The record ------------------------------------------------------------------------------------------------------

-- One row a tenant: how many commands have changed it, and how many audit entries they left. Commands lock it last.
CREATE TABLE tenant_generations (
  tenant_id   uuid PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
  generation  bigint NOT NULL DEFAULT 0,
  event_count bigint NOT NULL DEFAULT 0
);

CREATE TABLE audit_events (
  tenant_id      uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id             uuid NOT NULL,
  created_at     timestamptz(3) NOT NULL,
  generation     bigint NOT NULL,
  actor_type     text NOT NULL CHECK (actor_type IN ('api-key', 'operator', 'system')),
  actor_id       uuid,
  actor_name     text NOT NULL,
  operation      text NOT NULL,
  target_type    text NOT NULL,
  target_id      uuid NOT NULL,
  target_name    text,
  before         json,
  after          json,
  request_id     text NOT NULL,
  source_address text,
  PRIMARY KEY (tenant_id, id)
);
CREATE INDEX audit_events_by_target ON audit_events (tenant_id, target_id, id);
CREATE INDEX audit_events_by_time ON audit_events (tenant_id, created_at, id);

-- What replicas have to hear of. No foreign key: the news that a tenant is gone must outlive it.
CREATE TABLE outbox (
  tenant_id      uuid NOT NULL,
  generation     bigint NOT NULL,
  created_at     timestamptz(3) NOT NULL,
  -- Readers ask for everything since the oldest transaction that was running when they last asked.
  transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id(),
  changes        jsonb NOT NULL,
  PRIMARY KEY (tenant_id, generation)
);
CREATE INDEX outbox_by_transaction ON outbox (transaction_id);

-- Answers to POST requests with an Idempotency-Key. The operator's stand under the nil UUID, hence no foreign key.
CREATE TABLE idempotent_replies (
  tenant_id        uuid NOT NULL,
  caller_id        uuid NOT NULL,
  key_hash         bytea NOT NULL,
  request_hash     bytea NOT NULL,
  -- Null only while the transaction that made the row is running.
  reply_ciphertext bytea,
  expires_at       timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, caller_id, key_hash)
);
CREATE INDEX idempotent_replies_by_expiry ON idempotent_replies (expires_at);

-- Exact counts, kept rather than counted: lists answer with a total however long they are.
CREATE TABLE record_counts (
  tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  -- The table's name; for resources with the type: 'resources:PRIVATE'.
  kind      text NOT NULL,
  count     bigint NOT NULL,
  PRIMARY KEY (tenant_id, kind)
);

CREATE FUNCTION count_records() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO record_counts AS kept (tenant_id, kind, count)
      SELECT tenant_id, TG_TABLE_NAME, count(*) FROM changed_rows GROUP BY tenant_id
      ON CONFLICT (tenant_id, kind) DO UPDATE SET count = kept.count + excluded.count;
  ELSE
    UPDATE record_counts AS kept SET count = kept.count - gone.count
      FROM (SELECT tenant_id, count(*) FROM changed_rows GROUP BY tenant_id) AS gone
      WHERE kept.tenant_id = gone.tenant_id AND kept.kind = TG_TABLE_NAME;
  END IF;
  RETURN NULL;
END $$;

-- A resource's type never changes, so inserting and deleting is all there is to count.
CREATE FUNCTION count_resources() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO record_counts AS kept (tenant_id, kind, count)
      SELECT tenant_id, 'resources:' || type, count(*) FROM changed_rows GROUP BY tenant_id, type ORDER BY tenant_id, type
      ON CONFLICT (tenant_id, kind) DO UPDATE SET count = kept.count + excluded.count;
  ELSE
    UPDATE record_counts AS kept SET count = kept.count - gone.count
      FROM (SELECT tenant_id, type, count(*) FROM changed_rows GROUP BY tenant_id, type) AS gone
      WHERE kept.tenant_id = gone.tenant_id AND kept.kind = 'resources:' || gone.type;
  END IF;
  RETURN NULL;
END $$;

DO $$
DECLARE
  counted text;
BEGIN
  FOREACH counted IN ARRAY ARRAY['users', 'groups', 'devices', 'policies', 'resources'] LOOP
    EXECUTE format('CREATE TRIGGER count_inserted AFTER INSERT ON %I REFERENCING NEW TABLE AS changed_rows
      FOR EACH STATEMENT EXECUTE FUNCTION %I()', counted,
      CASE counted WHEN 'resources' THEN 'count_resources' ELSE 'count_records' END);
    EXECUTE format('CREATE TRIGGER count_deleted AFTER DELETE ON %I REFERENCING OLD TABLE AS changed_rows
      FOR EACH STATEMENT EXECUTE FUNCTION %I()', counted,
      CASE counted WHEN 'resources' THEN 'count_resources' ELSE 'count_records' END);
  END LOOP;
END $$;

-- The fence -------------------------------------------------------------------------------------------------------

DO $$
DECLARE
  fenced text;
BEGIN
  FOR fenced IN
    SELECT table_name FROM information_schema.columns
    WHERE table_schema = current_schema() AND column_name = 'tenant_id' AND table_name <> 'operator_events'
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', fenced);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', fenced);
    EXECUTE format('CREATE POLICY tenant_fence ON %I USING (tenant_id = current_tenant())', fenced);
  END LOOP;
END $$;

-- The tenant itself: visible to itself, and to the operator.
ALTER TABLE tenants ENABLE ROW LEVEL SECURITY;
ALTER TABLE tenants FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_fence ON tenants USING (id = current_tenant());
CREATE POLICY operator_reads ON tenants FOR SELECT USING (is_operator());

ALTER TABLE operator_events ENABLE ROW LEVEL SECURITY;
ALTER TABLE operator_events FORCE ROW LEVEL SECURITY;
CREATE POLICY operator_only ON operator_events USING (is_operator());

-- Whoever presents a key may read that key's row, and no other, to learn which tenant it belongs to.
CREATE POLICY presented_key ON api_keys FOR SELECT
  USING (key_hash = decode(nullif(current_setting('app.presented_key_hash', true), ''), 'hex'));

-- The reconcilers of the installation follow every tenant's outbox and clear away what has expired.
CREATE POLICY operator_follows ON outbox FOR SELECT USING (is_operator());
CREATE POLICY operator_clears ON outbox FOR DELETE USING (is_operator());
CREATE POLICY operator_sees_expired ON idempotent_replies FOR SELECT
  USING (is_operator() AND (tenant_id = '00000000-0000-0000-0000-000000000000' OR expires_at < now()));
CREATE POLICY operator_clears ON idempotent_replies FOR DELETE USING (is_operator() AND expires_at < now());
CREATE POLICY operator_replies_insert ON idempotent_replies FOR INSERT
  WITH CHECK (is_operator() AND tenant_id = '00000000-0000-0000-0000-000000000000');
CREATE POLICY operator_replies_update ON idempotent_replies FOR UPDATE
  USING (is_operator() AND tenant_id = '00000000-0000-0000-0000-000000000000');

-- The role that serves requests owns nothing and bypasses nothing; platform/db creates it.
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO gatehouse_app;
REVOKE UPDATE, DELETE ON audit_events, operator_events FROM gatehouse_app;
REVOKE UPDATE ON outbox FROM gatehouse_app;
REVOKE UPDATE, DELETE ON installation FROM gatehouse_app;
REVOKE INSERT, UPDATE, DELETE ON schema_migrations FROM gatehouse_app;
