-- The audit record as a chain that shows every change, gap and reordering (docs/decisions/0019).
--
-- Each command seals its entries: the seal holds the SHA-256 of each of them, and its own hash covers these, its place, its
-- time, its tenant, and the hash of the seal before. The statement that appends a command's entries computes it.

ALTER TABLE tenant_generations
  -- The hash of the tenant's last seal; zeros before the first.
  ADD COLUMN chain_hash   bytea  NOT NULL DEFAULT decode(repeat('00', 32), 'hex'),
  -- How many of the entries that event_count tells of were pruned: always the oldest.
  ADD COLUMN pruned_count bigint NOT NULL DEFAULT 0;

-- 1, 2, 3 … in each tenant, in the order in which commands committed.
ALTER TABLE audit_events ADD COLUMN position bigint;
-- The fence binds the owner too, who has to see every tenant's rows this once.
ALTER TABLE audit_events NO FORCE ROW LEVEL SECURITY;
UPDATE audit_events SET position = numbered.position
FROM (SELECT tenant_id, id, row_number() OVER (PARTITION BY tenant_id ORDER BY generation, id) AS position
      FROM audit_events) AS numbered
WHERE audit_events.tenant_id = numbered.tenant_id AND audit_events.id = numbered.id;
ALTER TABLE audit_events FORCE ROW LEVEL SECURITY;
ALTER TABLE audit_events ALTER COLUMN position SET NOT NULL;
ALTER TABLE audit_events ADD CONSTRAINT audit_events_position_unique UNIQUE (tenant_id, position);

-- One for each filter that finds few among many, in the order that the list has.
DROP INDEX audit_events_by_target;
DROP INDEX audit_events_by_time;
CREATE INDEX audit_events_by_target ON audit_events (tenant_id, target_id, position);
CREATE INDEX audit_events_by_time ON audit_events (tenant_id, created_at, position);
CREATE INDEX audit_events_by_actor ON audit_events (tenant_id, actor_id, position);
CREATE INDEX audit_events_by_operation ON audit_events (tenant_id, operation, position);
CREATE INDEX audit_events_by_request ON audit_events (tenant_id, request_id, position);

CREATE TABLE audit_seals (
  tenant_id      uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  generation     bigint NOT NULL,
  created_at     timestamptz(3) NOT NULL,
  first_position bigint NOT NULL,
  -- 32 bytes for each entry, in the order of their positions.
  entry_hashes   bytea NOT NULL,
  hash           bytea NOT NULL,
  PRIMARY KEY (tenant_id, generation)
);

-- Heads of chains, signed with a key that is not in the database: what they vouch for, nobody can rewrite with it alone.
CREATE TABLE audit_checkpoints (
  tenant_id  uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  position   bigint NOT NULL,
  generation bigint NOT NULL,
  hash       bytea NOT NULL,
  created_at timestamptz(3) NOT NULL,
  signature  bytea NOT NULL,
  PRIMARY KEY (tenant_id, position)
);

-- What is left of entries that were pruned, signed in the same way: where the rest of the chain begins.
CREATE TABLE audit_stubs (
  tenant_id  uuid PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
  position   bigint NOT NULL,
  generation bigint NOT NULL,
  hash       bytea NOT NULL,
  created_at timestamptz(3) NOT NULL,
  signature  bytea NOT NULL
);

DO $$
DECLARE
  fenced text;
BEGIN
  FOREACH fenced IN ARRAY ARRAY['audit_seals', 'audit_checkpoints', 'audit_stubs'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', fenced);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', fenced);
    EXECUTE format('CREATE POLICY tenant_fence ON %I USING (tenant_id = current_tenant())', fenced);
  END LOOP;
END $$;

-- The reconciler that signs asks which tenants' chains have grown.
CREATE POLICY operator_follows ON tenant_generations FOR SELECT USING (is_operator());
CREATE POLICY operator_follows ON audit_checkpoints FOR SELECT USING (is_operator());

GRANT SELECT, INSERT ON audit_seals, audit_checkpoints TO gatehouse_app;
GRANT SELECT, INSERT, UPDATE ON audit_stubs TO gatehouse_app;
-- Earlier migrations may have changed what new tables are granted.
REVOKE UPDATE, DELETE ON audit_seals, audit_checkpoints FROM gatehouse_app;

-- The only way for the role that serves requests to delete entries: those that the tenant's stub tells of.
-- Runs as the owner of the tables, inside the tenant that the transaction is in.
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
  RETURN deleted;
END $$;
REVOKE ALL ON FUNCTION delete_pruned_events() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION delete_pruned_events() TO gatehouse_app;
