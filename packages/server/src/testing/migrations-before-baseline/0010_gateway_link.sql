-- What gateways and the control plane say to each other: addresses in the tunnel, signing keys, the state of each link.

ALTER TABLE gateways
  -- Of WireGuard, as its agent told it; '' before the first time.
  ADD COLUMN public_key        text NOT NULL DEFAULT '',
  ADD COLUMN agent_version     text NOT NULL DEFAULT '',
  -- host:port, as its agent told it; '' where it did not.
  ADD COLUMN reported_endpoint text NOT NULL DEFAULT '',
  -- When it was taken out of service; null in service.
  ADD COLUMN maintenance_since timestamptz(3);
UPDATE gateways SET maintenance_since = updated_at WHERE status = 'MAINTENANCE';

-- Whoever presents a token may read its gateway's row, and no other, to learn whose it is.
CREATE POLICY presented_token ON gateways FOR SELECT
  USING (token_hash = decode(nullif(current_setting('app.presented_key_hash', true), ''), 'hex'));
CREATE POLICY presented_token ON former_gateway_tokens FOR SELECT
  USING (token_hash = decode(nullif(current_setting('app.presented_key_hash', true), ''), 'hex'));

-- The network of a tenant's tunnels. 100.64.0.0/10 is the same for all; the prefix is a ULA of the tenant's own (RFC 4193).
CREATE TABLE tunnel_networks (
  tenant_id   uuid PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
  -- Sixteen hexadecimal digits: of a /64.
  ipv6_prefix text NOT NULL,
  -- Numbers are given in turn, so that an address that was freed is not soon somebody else's.
  next_number integer NOT NULL
);

-- Who has which address: the number is added to 100.64.0.0, and to the prefix. Never changed.
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

-- Gives the next numbers that are free, in turn; the tenant's row stays locked until the transaction ends. After the last number it begins anew.
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

-- Gives addresses to all devices and gateways of a tenant that have none. Row-level security says which tenant.
CREATE FUNCTION give_tunnel_addresses(tenant uuid) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  given integer;
BEGIN
  -- First the lock: whoever waited for it sees whom another has served meanwhile.
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

-- What a tenant's configurations are signed with: Ed25519. The private part is sealed under the master key.
CREATE TABLE signing_keys (
  tenant_id              uuid PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
  created_at             timestamptz(3) NOT NULL,
  -- 32 bytes.
  public_key             bytea NOT NULL,
  private_key_ciphertext bytea NOT NULL
);

-- The state of each gateway's link. Written often, by batches, and never by commands: it is beside the gateway's row for that reason.
CREATE TABLE gateway_links (
  tenant_id           uuid NOT NULL,
  gateway_id          uuid NOT NULL,
  -- Of the present connection, or the last one; the replica that holds it.
  connection_id       uuid,
  replica_id          uuid,
  connected_at        timestamptz(3),
  disconnected_at     timestamptz(3),
  last_heartbeat      timestamptz(3),
  -- False once its silence was noticed.
  is_watched          boolean NOT NULL DEFAULT false,
  -- Share of its capacity, 0 to 1.
  load                double precision,
  round_trip_time_ms  double precision,
  -- What it should enforce, as the root of its content, and since when it should.
  wanted_root         text,
  wanted_generation   bigint,
  wanted_since        timestamptz(3),
  sent_root           text,
  sent_generation     bigint,
  sent_at             timestamptz(3),
  -- What it said it enforces.
  applied_hash        text,
  applied_root        text,
  applied_generation  bigint,
  applied_issued_at   bigint,
  applied_expires_at  timestamptz(3),
  applied_at          timestamptz(3),
  -- Why it does not enforce what was sent; '' where it does, or has not answered.
  error               text NOT NULL DEFAULT '',
  PRIMARY KEY (tenant_id, gateway_id),
  FOREIGN KEY (tenant_id, gateway_id) REFERENCES gateways ON DELETE CASCADE
);
CREATE INDEX gateway_links_watched ON gateway_links (last_heartbeat) WHERE is_watched;

-- Up to which generation each replica has told the tenant's gateways that are connected to it what is wanted of them.
CREATE TABLE gateway_link_replicas (
  tenant_id  uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  replica_id uuid NOT NULL,
  generation bigint NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, replica_id)
);

-- Where gateways last met a device.
CREATE TABLE device_links (
  tenant_id      uuid NOT NULL,
  device_id      uuid NOT NULL,
  gateway_id     uuid,
  last_handshake timestamptz(3) NOT NULL,
  -- Where its packets came from; '' where that is not known.
  source_address text NOT NULL DEFAULT '',
  PRIMARY KEY (tenant_id, device_id),
  FOREIGN KEY (tenant_id, device_id) REFERENCES devices ON DELETE CASCADE,
  FOREIGN KEY (tenant_id, gateway_id) REFERENCES gateways ON DELETE SET NULL (gateway_id)
);
CREATE INDEX device_links_by_gateway ON device_links (tenant_id, gateway_id);

DO $$
DECLARE
  fenced text;
BEGIN
  FOREACH fenced IN ARRAY ARRAY['tunnel_networks', 'tunnel_addresses', 'signing_keys', 'gateway_links',
                                'gateway_link_replicas', 'device_links'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', fenced);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', fenced);
    EXECUTE format('CREATE POLICY tenant_fence ON %I USING (tenant_id = current_tenant())', fenced);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO gatehouse_app', fenced);
  END LOOP;
END $$;

-- The watch for silent gateways looks over all tenants; none of these rows holds a secret.
CREATE POLICY operator_follows ON gateway_links FOR SELECT USING (is_operator());
