-- Where devices are, also those that no gateway has met, followed by all replicas (docs/decisions/0042, 0045).

ALTER TABLE device_links
  -- Null: no gateway has met it yet; only its own link told where it is.
  ALTER COLUMN last_handshake DROP NOT NULL,
  -- When it was at source_address, by whoever saw it there; null: at last_handshake.
  ADD COLUMN source_seen_at timestamptz(3),
  -- When source_address became what it is, by the database's clock; null: before anybody followed it.
  ADD COLUMN source_changed_at timestamptz(3);
CREATE INDEX device_links_by_source_change ON device_links (source_changed_at, tenant_id, device_id);

-- Replicas follow the changes of all tenants whose agents are connected to them in one look.
CREATE POLICY operator_follows ON device_links FOR SELECT USING (is_operator());
