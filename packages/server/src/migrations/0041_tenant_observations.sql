-- Writes outside commands to columns that answers show, such as when a gateway was last heard. They raise no generation,
-- so cached answers check this count too (docs/decisions/0100).

CREATE TABLE tenant_observations (
  tenant_id uuid PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
  -- Number of statements that wrote such columns.
  count     bigint NOT NULL DEFAULT 0
);

ALTER TABLE tenant_observations ENABLE ROW LEVEL SECURITY;
ALTER TABLE tenant_observations FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_fence ON tenant_observations USING (tenant_id = current_tenant());
GRANT SELECT, INSERT, UPDATE ON tenant_observations TO gatehouse_app;
-- Earlier migrations may have changed what new tables are granted.
REVOKE DELETE ON tenant_observations FROM gatehouse_app;

-- Fires once for each statement: a batch of a thousand heartbeats counts one.
CREATE FUNCTION count_observation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_tenant() IS NULL THEN
    -- An administrator writes outside of any tenant. Every tenant may be concerned.
    INSERT INTO tenant_observations AS known (tenant_id, count) SELECT id, 1 FROM tenants
    ON CONFLICT (tenant_id) DO UPDATE SET count = known.count + 1;
  ELSE
    INSERT INTO tenant_observations AS known (tenant_id, count) VALUES (current_tenant(), 1)
    ON CONFLICT (tenant_id) DO UPDATE SET count = known.count + 1;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER count_observation AFTER UPDATE OF last_online ON gateways
  FOR EACH STATEMENT EXECUTE FUNCTION count_observation();
CREATE TRIGGER count_observation AFTER UPDATE OF last_connection ON devices
  FOR EACH STATEMENT EXECUTE FUNCTION count_observation();
CREATE TRIGGER count_observation AFTER UPDATE OF last_connection ON users
  FOR EACH STATEMENT EXECUTE FUNCTION count_observation();
