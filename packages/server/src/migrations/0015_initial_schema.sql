-- The initial schema: tenants and their records, ordered by subject.
--
-- Migrations 1 to 14 were squashed into this file, hence its number. A database at 14 already has this schema, and
-- platform/db/baseline.ts adopts it without running this file. Later changes are new migrations.
--
-- Every table with a tenant_id is fenced three ways:
--   1. Primary, unique and foreign keys include the tenant, so no row can refer to another tenant's row.
--   2. Row-level security is forced, and the role that serves requests cannot bypass it (section "Fences").
--   3. Each transaction sets app.tenant_id for itself (platform/tenancy).
-- Each fence holds alone: a missing condition in a query or a mistake in one fence exposes nothing.
--
-- Conventions:
--   * Ids are UUIDv7 made by the server, so an index on (tenant_id, id) is in order of creation.
--   * `version` is the record's ETag. Commands on the record raise it; derived values do not.
--   * `name_key` is the sort key of names: lower case, by code point, the same on every platform.
--   * Foreign keys that prevent the deletion of a record are DEFERRABLE: the deletion of a tenant checks them last.
--   * Columns that agents and reconcilers update often are in tables of their own, separate from the record's row.

-- Settings of a transaction ---------------------------------------------------------------------------------------

-- After a transaction that called set_config(), the setting reads as '' instead of null. Hence nullif() here and below.
CREATE FUNCTION current_tenant() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
  RETURN nullif(current_setting('app.tenant_id', true), '')::uuid;

CREATE FUNCTION is_operator() RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
  RETURN coalesce(current_setting('app.operator', true), '') = 'on';

-- Installation ----------------------------------------------------------------------------------------------------

-- Values of the whole installation, such as the SHA-256 of a generated operator key.
CREATE TABLE installation (
  name  text PRIMARY KEY,
  value bytea NOT NULL
);

-- Actions of the operator. The tenant has no foreign key, because these entries outlive it.
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

-- Request counts that replicas share for their rate limits. Each replica writes about once a second. The counts may be
-- lost, hence UNLOGGED: PostgreSQL empties the table after a crash.
CREATE UNLOGGED TABLE rate_counts (
  -- 'key:' and the id of an API key, or 'address:' and an IPv4 address or an IPv6 /64.
  name         text NOT NULL,
  window_start timestamptz(3) NOT NULL,
  count        bigint NOT NULL,
  PRIMARY KEY (name, window_start)
) WITH (fillfactor = 50);

-- Tenants ---------------------------------------------------------------------------------------------------------

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

-- One row per tenant, which each command locks last. Commands of a tenant therefore commit in order of generation.
CREATE TABLE tenant_generations (
  tenant_id    uuid PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
  -- Number of commands that changed the tenant.
  generation   bigint NOT NULL DEFAULT 0,
  -- Number of audit entries that these commands wrote, including pruned ones.
  event_count  bigint NOT NULL DEFAULT 0,
  -- Hash of the tenant's last seal; zeros before the first one.
  chain_hash   bytea  NOT NULL DEFAULT decode(repeat('00', 32), 'hex'),
  -- Number of pruned audit entries, which are always the oldest.
  pruned_count bigint NOT NULL DEFAULT 0
);

-- Exact number of records per kind. Lists show a total, and counting rows would take longer the longer the list is.
CREATE TABLE record_counts (
  tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  -- The table's name. Resources are counted by type: 'resources:PRIVATE'.
  kind      text NOT NULL,
  count     bigint NOT NULL,
  PRIMARY KEY (tenant_id, kind)
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
  -- The status that reactivation restores; set if and only if the user is inactive.
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

-- Devices ---------------------------------------------------------------------------------------------------------

CREATE TABLE devices (
  tenant_id       uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id              uuid NOT NULL,
  created_at      timestamptz(3) NOT NULL,
  updated_at      timestamptz(3) NOT NULL,
  version         integer NOT NULL DEFAULT 1,
  name            text NOT NULL,
  name_key        text COLLATE "C" GENERATED ALWAYS AS (lower(name)) STORED,
  -- Null after the user was deleted. The device's record stays.
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

-- Tokens with which device agents authenticate (docs/decisions/0045).
CREATE TABLE device_tokens (
  tenant_id  uuid NOT NULL,
  device_id  uuid NOT NULL,
  -- SHA-256 of 256 random bits. The token is shown once and stored nowhere.
  token_hash bytea NOT NULL CONSTRAINT device_tokens_hash_unique UNIQUE,
  created_at timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, device_id),
  FOREIGN KEY (tenant_id, device_id) REFERENCES devices ON DELETE CASCADE
);

-- Gateways --------------------------------------------------------------------------------------------------------

CREATE TABLE gateways (
  tenant_id         uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id                uuid NOT NULL,
  created_at        timestamptz(3) NOT NULL,
  updated_at        timestamptz(3) NOT NULL,
  version           integer NOT NULL DEFAULT 1,
  name              text NOT NULL,
  description       text NOT NULL DEFAULT '',
  wireguard_port    integer NOT NULL CHECK (wireguard_port BETWEEN 1 AND 65535),
  status            text NOT NULL DEFAULT 'PENDING'
                    CHECK (status IN ('PENDING', 'ONLINE', 'OFFLINE', 'MAINTENANCE', 'ERROR')),
  error             text NOT NULL DEFAULT '',
  -- AES-256-GCM under the master key. The hash finds the gateway that presents the token.
  token_ciphertext  bytea NOT NULL,
  token_hash        bytea NOT NULL CONSTRAINT gateways_token_unique UNIQUE,
  deployed_on       timestamptz(3),
  last_online       timestamptz(3),
  relay_enabled     boolean NOT NULL DEFAULT false,
  endpoint          text NOT NULL DEFAULT '',
  -- WireGuard public key that the agent reported; '' before its first report.
  public_key        text NOT NULL DEFAULT '',
  agent_version     text NOT NULL DEFAULT '',
  -- host:port that the agent reported; '' if it reported none.
  reported_endpoint text NOT NULL DEFAULT '',
  -- Start of the maintenance; null in service.
  maintenance_since timestamptz(3),
  -- DNS resolvers of the site, in order.
  resolvers         text[] NOT NULL DEFAULT '{}',
  -- [{"domain": …, "resolvers": […]}]: domains with resolvers of their own.
  resolver_domains  jsonb NOT NULL DEFAULT '[]',
  -- Address blocks behind the gateway, in CIDR notation; null for the blocks of its resources.
  networks          text[],
  -- UDP port on which relays accept this gateway's packets; null for none.
  relay_port        integer CHECK (relay_port BETWEEN 1 AND 65535),
  PRIMARY KEY (tenant_id, id),
  CONSTRAINT gateways_name_unique UNIQUE (tenant_id, name),
  -- Deferred, because a configuration may move a port from one gateway to another. Commands check before they write.
  CONSTRAINT gateways_relay_port_unique UNIQUE (tenant_id, relay_port) DEFERRABLE INITIALLY DEFERRED
);

-- Rotated tokens that still work during their grace period, in which the agent changes to the new token.
CREATE TABLE former_gateway_tokens (
  tenant_id  uuid NOT NULL,
  gateway_id uuid NOT NULL,
  token_hash bytea NOT NULL CONSTRAINT former_gateway_tokens_hash_unique UNIQUE,
  ends_at    timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, gateway_id, token_hash),
  FOREIGN KEY (tenant_id, gateway_id) REFERENCES gateways ON DELETE CASCADE
);

-- Resources -------------------------------------------------------------------------------------------------------

CREATE TABLE protocols (
  tenant_id         uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id                uuid NOT NULL,
  created_at        timestamptz(3) NOT NULL,
  updated_at        timestamptz(3) NOT NULL,
  version           integer NOT NULL DEFAULT 1,
  name              text NOT NULL,
  type              text NOT NULL CHECK (type IN ('ALL', 'PREDEFINED', 'CUSTOM')),
  -- [{"protocol": "TCP", "port": "443"}, …] as in the API. json, because it preserves the text.
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
  -- Devices try 0 first.
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
  -- CEL text; null for the built-in rules.
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
  -- Position among the policies of its type: 1, 2, 3 … without gaps. The default policy is last.
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
  -- Deferred, because a new order swaps positions within one transaction.
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

-- Gateways do not cascade: a policy whose list lost its last gateway would allow all gateways.
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

-- Access tests: assertions that hold whatever else changes. Enforced ones refuse changes that break them.
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
  -- Without a foreign key, like resource_id: the record may be deleted, and the test then reports that it is missing.
  subject_id    uuid,
  -- "any", "none", or {"posture": {…}}.
  device        jsonb NOT NULL,
  resource_type text NOT NULL CHECK (resource_type IN ('resource', 'address')),
  -- The id of a resource. For an address, an IP address or a host name in canonical form.
  resource_id   text NOT NULL,
  -- {"protocol": …, "port": …}
  properties    jsonb NOT NULL DEFAULT '{}',
  -- {"sourceIp": …, "country": …, "time": …}; an absent value is left open.
  context       jsonb NOT NULL DEFAULT '{}',
  expected      text NOT NULL CHECK (expected IN ('allowed', 'denied')),
  PRIMARY KEY (tenant_id, id),
  CONSTRAINT access_tests_name_unique UNIQUE (tenant_id, name),
  CHECK ((subject_type = 'everyone') = (subject_id IS NULL))
);
CREATE INDEX access_tests_by_name ON access_tests (tenant_id, name_key, id);
CREATE INDEX access_tests_enforced ON access_tests (tenant_id, id) WHERE enforced;

-- API keys and sessions -------------------------------------------------------------------------------------------

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
  -- The key that rotation created. It stays after that key was deleted, because the rotation still happened.
  replaced_by  uuid,
  PRIMARY KEY (tenant_id, id)
);

-- Sessions of the console. A cookie represents the API key of the sign-in until the session ends. A session has no
-- permissions of its own, and is deleted together with its key.
CREATE TABLE console_sessions (
  tenant_id    uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id           uuid NOT NULL,
  -- SHA-256 of the cookie's value: 256 random bits.
  token_hash   bytea NOT NULL CONSTRAINT console_sessions_hash_unique UNIQUE,
  api_key_id   uuid NOT NULL,
  -- The key's own hash. Each request uses it to check the key's permissions, expiry and source addresses.
  key_hash     bytea NOT NULL,
  created_at   timestamptz(3) NOT NULL,
  -- Derived, and written at most once a minute.
  last_used_at timestamptz(3) NOT NULL,
  expires_at   timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id, api_key_id) REFERENCES api_keys (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX console_sessions_by_key ON console_sessions (tenant_id, api_key_id, id);

-- Responses to POST requests with an Idempotency-Key. The operator's have the nil UUID as tenant, hence no foreign key.
CREATE TABLE idempotent_replies (
  tenant_id        uuid NOT NULL,
  caller_id        uuid NOT NULL,
  key_hash         bytea NOT NULL,
  request_hash     bytea NOT NULL,
  -- Null only while the transaction that inserted the row is running.
  reply_ciphertext bytea,
  expires_at       timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, caller_id, key_hash)
);
CREATE INDEX idempotent_replies_by_expiry ON idempotent_replies (expires_at);

-- Tunnel addresses and signing keys (docs/decisions/0043) ----------------------------------------------------------

-- Address space of a tenant's tunnels. 100.64.0.0/10 is the same for all tenants; the prefix is the tenant's own ULA
-- (RFC 4193).
CREATE TABLE tunnel_networks (
  tenant_id   uuid PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
  -- Sixteen hexadecimal digits: the network part of a /64.
  ipv6_prefix text NOT NULL,
  -- Numbers are assigned in turn, so that a released address is not soon assigned to another device.
  next_number integer NOT NULL
);

-- Tunnel address of each device and gateway. The number is added to 100.64.0.0 and to the prefix. It never changes.
CREATE TABLE tunnel_addresses (
  tenant_id  uuid NOT NULL,
  number     integer NOT NULL CHECK (number BETWEEN 1 AND 4194302),
  device_id  uuid,
  gateway_id uuid,
  PRIMARY KEY (tenant_id, number),
  CHECK ((device_id IS NULL) <> (gateway_id IS NULL)),
  CONSTRAINT tunnel_addresses_of_device UNIQUE (tenant_id, device_id),
  CONSTRAINT tunnel_addresses_of_gateway UNIQUE (tenant_id, gateway_id),
  FOREIGN KEY (tenant_id) REFERENCES tunnel_networks ON DELETE CASCADE,
  FOREIGN KEY (tenant_id, device_id) REFERENCES devices ON DELETE CASCADE,
  FOREIGN KEY (tenant_id, gateway_id) REFERENCES gateways ON DELETE CASCADE
);

-- Returns the next free numbers in turn, and starts again at 1 after the last number. The tenant's row stays locked
-- until the transaction ends.
CREATE FUNCTION take_tunnel_numbers(tenant uuid, wanted integer) RETURNS SETOF integer LANGUAGE plpgsql AS $$
DECLARE
  last  CONSTANT integer := 4194302;
  first integer;
  found integer;
BEGIN
  INSERT INTO tunnel_networks (tenant_id, ipv6_prefix, next_number)
    VALUES (tenant, 'fd' || substr(replace(gen_random_uuid()::text, '-', ''), 1, 6)
                         || substr(replace(gen_random_uuid()::text, '-', ''), 1, 4) || '0000', 1)
    ON CONFLICT (tenant_id) DO NOTHING;
  SELECT next_number INTO first FROM tunnel_networks WHERE tenant_id = tenant FOR UPDATE;
  IF first + wanted - 1 <= last AND NOT EXISTS (
    SELECT FROM tunnel_addresses WHERE tenant_id = tenant AND number BETWEEN first AND first + wanted - 1
  ) THEN
    UPDATE tunnel_networks SET next_number = first + wanted WHERE tenant_id = tenant;
    RETURN QUERY SELECT generate_series(first, first + wanted - 1);
    RETURN;
  END IF;
  FOR found IN
    SELECT candidate FROM (
      SELECT generate_series(first, last) AS candidate UNION ALL SELECT generate_series(1, first - 1)
    ) AS candidates
    WHERE NOT EXISTS (SELECT FROM tunnel_addresses WHERE tenant_id = tenant AND number = candidate)
    LIMIT wanted
  LOOP
    UPDATE tunnel_networks SET next_number = CASE WHEN found = last THEN 1 ELSE found + 1 END WHERE tenant_id = tenant;
    RETURN NEXT found;
  END LOOP;
END $$;

-- Assigns addresses to all devices and gateways of a tenant that have none. Row-level security restricts the tenant.
CREATE FUNCTION give_tunnel_addresses(tenant uuid) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  given integer;
BEGIN
  -- Lock first: a transaction that waited for the lock then sees the addresses that another one assigned.
  PERFORM take_tunnel_numbers(tenant, 0);
  WITH without AS (
    SELECT id AS device_id, NULL::uuid AS gateway_id FROM devices AS item WHERE item.tenant_id = tenant AND NOT EXISTS (
      SELECT FROM tunnel_addresses AS had WHERE had.tenant_id = tenant AND had.device_id = item.id)
    UNION ALL
    SELECT NULL, id FROM gateways AS item WHERE item.tenant_id = tenant AND NOT EXISTS (
      SELECT FROM tunnel_addresses AS had WHERE had.tenant_id = tenant AND had.gateway_id = item.id)
  ), ordered AS (
    SELECT *, row_number() OVER (ORDER BY device_id, gateway_id) AS place FROM without
  ), numbers AS (
    SELECT number, row_number() OVER () AS place
    FROM take_tunnel_numbers(tenant, (SELECT count(*)::integer FROM without)) AS taken (number)
  )
  INSERT INTO tunnel_addresses (tenant_id, number, device_id, gateway_id)
    SELECT tenant, numbers.number, ordered.device_id, ordered.gateway_id FROM ordered JOIN numbers USING (place);
  GET DIAGNOSTICS given = ROW_COUNT;
  RETURN given;
END $$;

CREATE FUNCTION address_new_members() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  served uuid;
BEGIN
  FOR served IN SELECT DISTINCT tenant_id FROM changed_rows ORDER BY tenant_id LOOP
    WITH ordered AS (
      SELECT id, row_number() OVER (ORDER BY id) AS place FROM changed_rows WHERE tenant_id = served
    ), numbers AS (
      SELECT number, row_number() OVER () AS place
      FROM take_tunnel_numbers(served, (SELECT count(*)::integer FROM ordered)) AS taken (number)
    )
    INSERT INTO tunnel_addresses (tenant_id, number, device_id, gateway_id)
      SELECT served, numbers.number, CASE TG_TABLE_NAME WHEN 'devices' THEN ordered.id END,
             CASE TG_TABLE_NAME WHEN 'gateways' THEN ordered.id END
      FROM ordered JOIN numbers USING (place);
  END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER give_addresses AFTER INSERT ON devices REFERENCING NEW TABLE AS changed_rows
  FOR EACH STATEMENT EXECUTE FUNCTION address_new_members();
CREATE TRIGGER give_addresses AFTER INSERT ON gateways REFERENCING NEW TABLE AS changed_rows
  FOR EACH STATEMENT EXECUTE FUNCTION address_new_members();

-- Ed25519 key that signs a tenant's configurations. The private key is encrypted under the master key.
CREATE TABLE signing_keys (
  tenant_id              uuid PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
  created_at             timestamptz(3) NOT NULL,
  -- 32 bytes.
  public_key             bytea NOT NULL,
  private_key_ciphertext bytea NOT NULL
);

-- Agent links -----------------------------------------------------------------------------------------------------

-- State of each gateway's link. Reconcilers write it often and in batches, commands never.
CREATE TABLE gateway_links (
  tenant_id           uuid NOT NULL,
  gateway_id          uuid NOT NULL,
  -- The present connection or the last one, and the replica that holds it.
  connection_id       uuid,
  replica_id          uuid,
  connected_at        timestamptz(3),
  disconnected_at     timestamptz(3),
  last_heartbeat      timestamptz(3),
  -- False after the check for silent gateways has marked it offline.
  is_watched          boolean NOT NULL DEFAULT false,
  -- Share of its capacity, 0 to 1.
  load                double precision,
  round_trip_time_ms  double precision,
  -- Root hash of the desired configuration, and the time since when it is desired.
  wanted_root         text,
  wanted_generation   bigint,
  wanted_since        timestamptz(3),
  sent_root           text,
  sent_generation     bigint,
  sent_at             timestamptz(3),
  -- The configuration that the gateway reports to enforce.
  applied_hash        text,
  applied_root        text,
  applied_generation  bigint,
  applied_issued_at   bigint,
  applied_expires_at  timestamptz(3),
  applied_at          timestamptz(3),
  -- Why the gateway did not apply what was sent; '' if it did, or has not answered.
  error               text NOT NULL DEFAULT '',
  -- Limitations that the agent's last heartbeat reported: a list of texts.
  warnings            jsonb NOT NULL DEFAULT '[]',
  PRIMARY KEY (tenant_id, gateway_id),
  FOREIGN KEY (tenant_id, gateway_id) REFERENCES gateways ON DELETE CASCADE
);
CREATE INDEX gateway_links_watched ON gateway_links (last_heartbeat) WHERE is_watched;

-- Generation up to which each replica has notified the tenant's gateways that are connected to it.
CREATE TABLE gateway_link_replicas (
  tenant_id  uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  replica_id uuid NOT NULL,
  generation bigint NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, replica_id)
);

-- Source address of each device, also of devices that no gateway has met. All replicas follow it (docs/decisions/0042,
-- 0045).
CREATE TABLE device_links (
  tenant_id         uuid NOT NULL,
  device_id         uuid NOT NULL,
  -- The gateway of the last handshake.
  gateway_id        uuid,
  -- Null if no gateway has met the device; only its own link reported its address.
  last_handshake    timestamptz(3),
  -- Source address of the device's packets; '' if unknown.
  source_address    text NOT NULL DEFAULT '',
  -- When the device was last observed at source_address; null means at last_handshake.
  source_seen_at    timestamptz(3),
  -- When source_address changed, by the database's clock; null before replicas followed the table.
  source_changed_at timestamptz(3),
  PRIMARY KEY (tenant_id, device_id),
  FOREIGN KEY (tenant_id, device_id) REFERENCES devices ON DELETE CASCADE,
  FOREIGN KEY (tenant_id, gateway_id) REFERENCES gateways ON DELETE SET NULL (gateway_id)
);
CREATE INDEX device_links_by_gateway ON device_links (tenant_id, gateway_id);
CREATE INDEX device_links_by_source_change ON device_links (source_changed_at, tenant_id, device_id);

-- Changes and their audit record ----------------------------------------------------------------------------------

-- Changes that other replicas must learn of. No foreign key: the deletion of a tenant is such a change.
CREATE TABLE outbox (
  tenant_id      uuid NOT NULL,
  generation     bigint NOT NULL,
  created_at     timestamptz(3) NOT NULL,
  -- Readers query everything since the oldest transaction that was running at their last query.
  transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id(),
  changes        jsonb NOT NULL,
  PRIMARY KEY (tenant_id, generation)
);
CREATE INDEX outbox_by_transaction ON outbox (transaction_id);

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
  -- json, because the entry's hash covers the text.
  before         json,
  after          json,
  request_id     text NOT NULL,
  source_address text,
  -- 1, 2, 3 … in each tenant, in the order in which commands committed.
  position       bigint NOT NULL,
  -- The caller's reason for overriding access tests.
  reason         text,
  PRIMARY KEY (tenant_id, id),
  CONSTRAINT audit_events_position_unique UNIQUE (tenant_id, position)
);
-- One index for each filter that selects few entries among many, in the order of the list.
CREATE INDEX audit_events_by_target ON audit_events (tenant_id, target_id, position);
CREATE INDEX audit_events_by_time ON audit_events (tenant_id, created_at, position);
CREATE INDEX audit_events_by_actor ON audit_events (tenant_id, actor_id, position);
CREATE INDEX audit_events_by_operation ON audit_events (tenant_id, operation, position);
CREATE INDEX audit_events_by_request ON audit_events (tenant_id, request_id, position);
CREATE INDEX audit_events_by_generation ON audit_events (tenant_id, generation, id);

-- The audit record is a chain that reveals every change, gap and reordering (docs/decisions/0019). Each command seals
-- its entries. The seal holds the SHA-256 of each entry. Its own hash covers these hashes, its position, its time, its
-- tenant, and the hash of the previous seal. The statement that appends the entries computes it.
CREATE TABLE audit_seals (
  tenant_id      uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  generation     bigint NOT NULL,
  created_at     timestamptz(3) NOT NULL,
  first_position bigint NOT NULL,
  -- 32 bytes for each entry, in order of position.
  entry_hashes   bytea NOT NULL,
  hash           bytea NOT NULL,
  PRIMARY KEY (tenant_id, generation)
);

-- Heads of chains, signed with a key that is not in the database. Access to the database alone is therefore not enough
-- to rewrite the entries before a checkpoint.
CREATE TABLE audit_checkpoints (
  tenant_id  uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  position   bigint NOT NULL,
  generation bigint NOT NULL,
  hash       bytea NOT NULL,
  created_at timestamptz(3) NOT NULL,
  signature  bytea NOT NULL,
  PRIMARY KEY (tenant_id, position)
);

-- A signed stub replaces pruned entries: the remaining chain begins after it.
CREATE TABLE audit_stubs (
  tenant_id  uuid PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
  position   bigint NOT NULL,
  generation bigint NOT NULL,
  hash       bytea NOT NULL,
  created_at timestamptz(3) NOT NULL,
  signature  bytea NOT NULL
);

-- Access history (docs/decisions/0032, 0033) ----------------------------------------------------------------------

-- Versions of the records that decisions depend on. The last version up to a generation was in force at it.
CREATE TABLE access_history (
  tenant_id        uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  -- 'policy-order' is the order of evaluation of one type of policies.
  kind             text NOT NULL
                   CHECK (kind IN ('user', 'group', 'device', 'gateway', 'resource', 'rule', 'policy', 'policy-order')),
  -- The record's id. For 'policy-order', the type of the policies.
  record           text NOT NULL,
  generation       bigint NOT NULL,
  -- Generation of the record's first version: newer policies follow older ones.
  first_generation bigint NOT NULL,
  -- Exactly the text that packages/policy reads. For 'policy-order', the ids. Null after the deletion.
  facts            json,
  PRIMARY KEY (tenant_id, kind, record, generation)
);
CREATE INDEX access_history_by_generation ON access_history (tenant_id, generation);

-- One row for each command that could change access, and one for the start of the history.
CREATE TABLE access_effects (
  tenant_id  uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  generation bigint NOT NULL,
  -- Time from which this generation was in force. It never decreases from one generation to the next.
  since      timestamptz(3) NOT NULL,
  -- Access that subjects gained and lost; null at the start of the history.
  summary    json,
  PRIMARY KEY (tenant_id, generation)
);
CREATE INDEX access_effects_by_time ON access_effects (tenant_id, since, generation);

-- The only way for the role that serves requests to delete audit entries: those that the tenant's stub replaces, with
-- their seals and checkpoints. The history keeps the last version before the cut of each record, and of the effects.
-- Runs as the owner of the tables, inside the tenant of the transaction.
CREATE FUNCTION delete_pruned_events() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  stub    audit_stubs;
  deleted bigint;
BEGIN
  IF NOT is_operator() THEN
    RAISE insufficient_privilege USING MESSAGE = 'only the operator may prune the audit record';
  END IF;
  SELECT * INTO stub FROM audit_stubs WHERE tenant_id = current_tenant();
  DELETE FROM audit_events WHERE tenant_id = stub.tenant_id AND position <= stub.position;
  GET DIAGNOSTICS deleted = ROW_COUNT;
  DELETE FROM audit_seals WHERE tenant_id = stub.tenant_id AND generation <= stub.generation;
  DELETE FROM audit_checkpoints WHERE tenant_id = stub.tenant_id AND audit_checkpoints.position <= stub.position;
  DELETE FROM access_history AS old
  WHERE old.tenant_id = stub.tenant_id AND old.generation <= stub.generation AND (
    old.facts IS NULL OR EXISTS (
      SELECT FROM access_history AS later
      WHERE later.tenant_id = old.tenant_id AND later.kind = old.kind AND later.record = old.record
        AND later.generation > old.generation AND later.generation <= stub.generation));
  DELETE FROM access_effects AS old
  WHERE old.tenant_id = stub.tenant_id AND old.generation < (
    SELECT max(kept.generation) FROM access_effects AS kept
    WHERE kept.tenant_id = stub.tenant_id AND kept.generation <= stub.generation);
  RETURN deleted;
END $$;
REVOKE ALL ON FUNCTION delete_pruned_events() FROM PUBLIC;

-- Webhooks --------------------------------------------------------------------------------------------------------

-- Endpoints to which a tenant's audit entries are delivered.
CREATE TABLE webhooks (
  tenant_id         uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id                uuid NOT NULL,
  created_at        timestamptz(3) NOT NULL,
  updated_at        timestamptz(3) NOT NULL,
  version           integer NOT NULL DEFAULT 1,
  name              text NOT NULL,
  url               text NOT NULL,
  -- Operations to deliver; all of them if empty.
  events            text[] NOT NULL DEFAULT '{}',
  active            boolean NOT NULL DEFAULT true,
  description       text NOT NULL DEFAULT '',
  disabled_reason   text CHECK (disabled_reason IN ('GONE', 'FAILING')),
  disabled_at       timestamptz(3),
  -- First failed attempt since the last successful one.
  failing_since     timestamptz(3),
  -- Last audit entry that was processed. Entries of one generation commit together, and generations in order.
  cursor_generation bigint NOT NULL,
  cursor_event_id   uuid NOT NULL,
  PRIMARY KEY (tenant_id, id),
  CHECK ((disabled_reason IS NULL) = (disabled_at IS NULL)),
  CHECK (disabled_reason IS NULL OR NOT active)
);
CREATE INDEX webhooks_following ON webhooks (tenant_id, cursor_generation) WHERE active;

-- AES-256-GCM under the master key. The secret without an expiry signs; during a rotation, the previous one does too.
CREATE TABLE webhook_secrets (
  tenant_id  uuid NOT NULL,
  webhook_id uuid NOT NULL,
  id         uuid NOT NULL,
  ciphertext bytea NOT NULL,
  expires_at timestamptz(3),
  PRIMARY KEY (tenant_id, webhook_id, id),
  FOREIGN KEY (tenant_id, webhook_id) REFERENCES webhooks ON DELETE CASCADE
);

-- One message to one webhook. The audit entry has no foreign key, because retention deletes old entries.
CREATE TABLE webhook_deliveries (
  tenant_id       uuid NOT NULL,
  id              uuid NOT NULL,
  webhook_id      uuid NOT NULL,
  created_at      timestamptz(3) NOT NULL,
  updated_at      timestamptz(3) NOT NULL,
  version         integer NOT NULL DEFAULT 1,
  -- Null for a test message.
  event_id        uuid,
  type            text NOT NULL,
  status          text NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'DELIVERED', 'FAILED')),
  -- [{"at": …, "statusCode": …, "error": …, "durationMs": …}, …] as in the API.
  attempts        jsonb NOT NULL DEFAULT '[]',
  -- Failed attempts since the message was created, or since an administrator retried it.
  failures        integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz(3),
  -- The job that will make the attempt. After queued_until, the dispatcher creates another job.
  job_id          uuid,
  queued_until    timestamptz(3),
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id, webhook_id) REFERENCES webhooks ON DELETE CASCADE,
  CHECK ((status = 'PENDING') = (next_attempt_at IS NOT NULL)),
  CHECK ((job_id IS NULL) = (queued_until IS NULL))
);
CREATE INDEX webhook_deliveries_by_webhook ON webhook_deliveries (tenant_id, webhook_id, id);
CREATE INDEX webhook_deliveries_by_time ON webhook_deliveries (tenant_id, created_at);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (tenant_id, webhook_id, next_attempt_at, id)
  WHERE status = 'PENDING';
CREATE INDEX webhook_deliveries_queued ON webhook_deliveries (tenant_id, webhook_id, queued_until)
  WHERE status = 'PENDING' AND queued_until IS NOT NULL;

-- Record counts ---------------------------------------------------------------------------------------------------

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

-- A resource's type never changes, so only insertions and deletions change the counts.
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
  FOREACH counted IN ARRAY ARRAY['users', 'groups', 'devices', 'policies', 'resources', 'access_tests'] LOOP
    EXECUTE format('CREATE TRIGGER count_inserted AFTER INSERT ON %I REFERENCING NEW TABLE AS changed_rows
      FOR EACH STATEMENT EXECUTE FUNCTION %I()', counted,
      CASE counted WHEN 'resources' THEN 'count_resources' ELSE 'count_records' END);
    EXECUTE format('CREATE TRIGGER count_deleted AFTER DELETE ON %I REFERENCING OLD TABLE AS changed_rows
      FOR EACH STATEMENT EXECUTE FUNCTION %I()', counted,
      CASE counted WHEN 'resources' THEN 'count_resources' ELSE 'count_records' END);
  END LOOP;
END $$;

-- Fences ----------------------------------------------------------------------------------------------------------

-- Every row of a tenant is visible only inside that tenant. FORCE binds the owner of the tables too.
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

-- A tenant's own row is visible to the tenant and to the operator.
ALTER TABLE tenants ENABLE ROW LEVEL SECURITY;
ALTER TABLE tenants FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_fence ON tenants USING (id = current_tenant());
CREATE POLICY operator_reads ON tenants FOR SELECT USING (is_operator());

-- Tables of the installation belong to the operator.
ALTER TABLE operator_events ENABLE ROW LEVEL SECURITY;
ALTER TABLE operator_events FORCE ROW LEVEL SECURITY;
CREATE POLICY operator_only ON operator_events USING (is_operator());
ALTER TABLE rate_counts ENABLE ROW LEVEL SECURITY;
ALTER TABLE rate_counts FORCE ROW LEVEL SECURITY;
CREATE POLICY operator_only ON rate_counts USING (is_operator());

-- Openings for authentication. A caller that presents a key or token reads the one row with its hash, and learns the
-- tenant from it.
CREATE POLICY presented_key ON api_keys FOR SELECT
  USING (key_hash = decode(nullif(current_setting('app.presented_key_hash', true), ''), 'hex'));
CREATE POLICY presented_token ON gateways FOR SELECT
  USING (token_hash = decode(nullif(current_setting('app.presented_key_hash', true), ''), 'hex'));
CREATE POLICY presented_token ON former_gateway_tokens FOR SELECT
  USING (token_hash = decode(nullif(current_setting('app.presented_key_hash', true), ''), 'hex'));
CREATE POLICY presented_token ON device_tokens FOR SELECT
  USING (token_hash = decode(nullif(current_setting('app.presented_key_hash', true), ''), 'hex'));
CREATE POLICY presented_session ON console_sessions FOR SELECT
  USING (token_hash = decode(nullif(current_setting('app.presented_session_hash', true), ''), 'hex'));

-- Openings for reconcilers, which find work across all tenants and then do it inside each tenant. None of these rows
-- contains a secret.
CREATE POLICY operator_follows ON outbox FOR SELECT USING (is_operator());
CREATE POLICY operator_clears ON outbox FOR DELETE USING (is_operator());
-- The signing of checkpoints finds chains that have grown.
CREATE POLICY operator_follows ON tenant_generations FOR SELECT USING (is_operator());
CREATE POLICY operator_follows ON audit_checkpoints FOR SELECT USING (is_operator());
-- The dispatcher finds webhooks that are behind, and deliveries that are due.
CREATE POLICY operator_follows ON webhooks FOR SELECT USING (is_operator());
CREATE POLICY operator_follows ON webhook_deliveries FOR SELECT USING (is_operator() AND status = 'PENDING');
-- One task finds silent gateways. Replicas follow the source addresses of all their tenants' devices.
CREATE POLICY operator_follows ON gateway_links FOR SELECT USING (is_operator());
CREATE POLICY operator_follows ON device_links FOR SELECT USING (is_operator());

-- The operator deletes expired replies of all tenants, and reads and writes its own, under the nil UUID.
CREATE POLICY operator_sees_expired ON idempotent_replies FOR SELECT
  USING (is_operator() AND (tenant_id = '00000000-0000-0000-0000-000000000000' OR expires_at < now()));
CREATE POLICY operator_clears ON idempotent_replies FOR DELETE USING (is_operator() AND expires_at < now());
CREATE POLICY operator_replies_insert ON idempotent_replies FOR INSERT
  WITH CHECK (is_operator() AND tenant_id = '00000000-0000-0000-0000-000000000000');
CREATE POLICY operator_replies_update ON idempotent_replies FOR UPDATE
  USING (is_operator() AND tenant_id = '00000000-0000-0000-0000-000000000000');

-- Privileges ------------------------------------------------------------------------------------------------------

-- The role that serves requests owns nothing and bypasses nothing. platform/db/migrations.ts creates it.
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO gatehouse_app;
-- The audit record and the history are append-only. Only delete_pruned_events() deletes from them.
REVOKE UPDATE, DELETE ON audit_events, audit_seals, audit_checkpoints, access_history, access_effects, operator_events
  FROM gatehouse_app;
REVOKE DELETE ON audit_stubs FROM gatehouse_app;
GRANT EXECUTE ON FUNCTION delete_pruned_events() TO gatehouse_app;
REVOKE UPDATE ON outbox FROM gatehouse_app;
REVOKE UPDATE, DELETE ON installation FROM gatehouse_app;
REVOKE INSERT, UPDATE, DELETE ON schema_migrations FROM gatehouse_app;
