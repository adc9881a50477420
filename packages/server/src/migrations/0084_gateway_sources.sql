-- Source addresses of devices count only where they were observed (docs/decisions/0157).

-- The latest source address that each gateway observed for a device. device_links.source_address is that of the control
-- plane from now on.
CREATE TABLE device_gateway_sources (
  tenant_id      uuid NOT NULL,
  device_id      uuid NOT NULL,
  gateway_id     uuid NOT NULL,
  source_address text NOT NULL,
  seen_at        timestamptz(3) NOT NULL,
  -- When the row was last written, by the database's clock.
  changed_at     timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, device_id, gateway_id),
  FOREIGN KEY (tenant_id, device_id) REFERENCES devices (tenant_id, id) ON DELETE CASCADE,
  FOREIGN KEY (tenant_id, gateway_id) REFERENCES gateways (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX device_gateway_sources_by_gateway ON device_gateway_sources (tenant_id, gateway_id);
CREATE INDEX device_gateway_sources_by_change
  ON device_gateway_sources (changed_at, tenant_id, device_id, gateway_id);

-- A stored address of a device that a gateway has met may come from that gateway. It counts there alone, until the
-- device connects to the control plane again.
-- Row-level security binds the owner too.
ALTER TABLE device_links NO FORCE ROW LEVEL SECURITY;
INSERT INTO device_gateway_sources (tenant_id, device_id, gateway_id, source_address, seen_at, changed_at)
  SELECT tenant_id, device_id, gateway_id, source_address, coalesce(source_seen_at, last_handshake), clock_timestamp()
  FROM device_links
  WHERE gateway_id IS NOT NULL AND source_address <> '' AND coalesce(source_seen_at, last_handshake) IS NOT NULL;
UPDATE device_links SET source_address = '', source_seen_at = NULL, source_changed_at = clock_timestamp()
  WHERE gateway_id IS NOT NULL AND source_address <> '';
ALTER TABLE device_links FORCE ROW LEVEL SECURITY;

ALTER TABLE device_gateway_sources ENABLE ROW LEVEL SECURITY;
ALTER TABLE device_gateway_sources FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_fence ON device_gateway_sources USING (tenant_id = current_tenant());
-- Replicas follow the source addresses of all their tenants' devices.
CREATE POLICY operator_follows ON device_gateway_sources FOR SELECT USING (is_operator());
GRANT SELECT, INSERT, UPDATE, DELETE ON device_gateway_sources TO gatehouse_app;
