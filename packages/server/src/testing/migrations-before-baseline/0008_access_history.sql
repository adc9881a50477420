-- What decisions were made from at each of a tenant's generations, and what each write did to access (docs/decisions/0032, 0033).

-- The facts of one record as a command left them. The last version up to a generation is what held at it.
CREATE TABLE access_history (
  tenant_id        uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  -- 'policy-order': the order of evaluation of the policies of a type.
  kind             text NOT NULL CHECK (kind IN ('user', 'group', 'device', 'gateway', 'resource', 'rule', 'policy', 'policy-order')),
  -- The record's id; of an order, the type of the policies.
  record           text NOT NULL,
  generation       bigint NOT NULL,
  -- The generation of the record's first version: new policies come after those that are older.
  first_generation bigint NOT NULL,
  -- As packages/policy takes them, text for text; of an order, the ids. Null: gone.
  facts            json,
  PRIMARY KEY (tenant_id, kind, record, generation)
);
CREATE INDEX access_history_by_generation ON access_history (tenant_id, generation);

-- One row for each command that could change access, and one where the history begins.
CREATE TABLE access_effects (
  tenant_id  uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  generation bigint NOT NULL,
  -- The moment from which this generation counts: never earlier than those before it.
  since      timestamptz(3) NOT NULL,
  -- Who gained and lost access to what; null where the history begins.
  summary    json,
  PRIMARY KEY (tenant_id, generation)
);
CREATE INDEX access_effects_by_time ON access_effects (tenant_id, since, generation);

-- What the caller gave as the reason for overriding access tests.
ALTER TABLE audit_events ADD COLUMN reason text;

-- What there is, as the beginning of the history of the tenants that there are. The fence binds the owner too, who has to see
-- every tenant's rows this once.
DO $$
DECLARE
  fenced text;
  source_tables text[] := ARRAY['users', 'group_members', 'groups', 'devices', 'gateways', 'resources', 'addresses',
    'address_protocols', 'protocols', 'resource_gateways', 'admission_rules', 'policies', 'policy_groups', 'policy_users',
    'policy_devices', 'policy_resources', 'policy_gateways', 'tenant_generations'];
BEGIN
  FOREACH fenced IN ARRAY source_tables LOOP
    EXECUTE format('ALTER TABLE %I NO FORCE ROW LEVEL SECURITY', fenced);
  END LOOP;

  INSERT INTO access_effects (tenant_id, generation, since)
  SELECT tenant_id, generation, now() FROM tenant_generations WHERE generation > 0;

  INSERT INTO access_history (tenant_id, kind, record, generation, first_generation, facts)
  SELECT fact.tenant_id, fact.kind, fact.record, counted.generation, counted.generation, fact.facts
  FROM (
    SELECT item.tenant_id, 'user' AS kind, item.id::text AS record, json_build_object(
      'id', item.id, 'email', item.email, 'firstName', item.first_name, 'lastName', item.last_name, 'status', item.status,
      'attributes', item.attributes,
      'groups', ARRAY(SELECT member.group_id FROM group_members AS member
        WHERE member.tenant_id = item.tenant_id AND member.user_id = item.id ORDER BY member.group_id)) AS facts
    FROM users AS item
    UNION ALL
    SELECT item.tenant_id, 'group', item.id::text, json_build_object('id', item.id, 'name', item.name) FROM groups AS item
    UNION ALL
    SELECT item.tenant_id, 'device', item.id::text, json_build_object(
      'id', item.id, 'userId', item.user_id, 'active', item.active, 'name', item.name, 'os', item.os,
      'osVersion', item.os_version, 'appVersion', item.app_version, 'hardwareId', item.hardware_id,
      'posture', coalesce(item.posture, '{}'))
    FROM devices AS item
    UNION ALL
    SELECT item.tenant_id, 'gateway', item.id::text, json_build_object(
      'id', item.id, 'name', item.name, 'status', item.status, 'load', NULL, 'roundTripTimeMs', NULL)
    FROM gateways AS item
    UNION ALL
    SELECT item.tenant_id, 'resource', item.id::text, json_build_object(
      'id', item.id, 'name', item.name, 'type', item.type, 'loadBalancingMode', item.load_balancing_mode,
      'addresses', coalesce((
        SELECT json_agg(json_build_object('address', address.address, 'protocols', coalesce((
            SELECT json_agg(part.protocol ORDER BY offered.position, part.place)
            FROM address_protocols AS offered
            JOIN protocols AS named ON named.tenant_id = offered.tenant_id AND named.id = offered.protocol_id
            CROSS JOIN json_array_elements(named.network_protocols) WITH ORDINALITY AS part (protocol, place)
            WHERE offered.tenant_id = address.tenant_id AND offered.address_id = address.id
          ), '[]')) ORDER BY address.id)
        FROM addresses AS address WHERE address.tenant_id = item.tenant_id AND address.resource_id = item.id
      ), '[]'),
      'gateways', ARRAY(SELECT link.gateway_id FROM resource_gateways AS link
        WHERE link.tenant_id = item.tenant_id AND link.resource_id = item.id ORDER BY link.priority))
    FROM resources AS item
    UNION ALL
    SELECT item.tenant_id, 'rule', item.id::text, json_build_object(
      'id', item.id, 'name', item.name, 'type', item.type, 'text', item.rule)
    FROM admission_rules AS item
    UNION ALL
    SELECT item.tenant_id, 'policy', item.id::text, json_build_object(
      'id', item.id, 'name', item.name, 'type', item.type, 'isDefault', item.is_default, 'active', item.active,
      'action', item.action, 'mode', item.mode, 'allGroups', item.all_groups, 'allUsers', item.all_users,
      'allDevices', item.all_devices, 'allResources', item.all_resources, 'sourceIps', item.source_ips,
      'rule', item.rule_id,
      'groups', ARRAY(SELECT named.group_id FROM policy_groups AS named
        WHERE named.tenant_id = item.tenant_id AND named.policy_id = item.id ORDER BY named.group_id),
      'users', ARRAY(SELECT named.user_id FROM policy_users AS named
        WHERE named.tenant_id = item.tenant_id AND named.policy_id = item.id ORDER BY named.user_id),
      'devices', ARRAY(SELECT named.device_id FROM policy_devices AS named
        WHERE named.tenant_id = item.tenant_id AND named.policy_id = item.id ORDER BY named.device_id),
      'resources', ARRAY(SELECT named.resource_id FROM policy_resources AS named
        WHERE named.tenant_id = item.tenant_id AND named.policy_id = item.id ORDER BY named.resource_id),
      'gateways', ARRAY(SELECT named.gateway_id FROM policy_gateways AS named
        WHERE named.tenant_id = item.tenant_id AND named.policy_id = item.id ORDER BY named.position))
    FROM policies AS item
    UNION ALL
    SELECT item.tenant_id, 'policy-order', item.type, json_agg(item.id ORDER BY item."order")
    FROM policies AS item GROUP BY item.tenant_id, item.type
  ) AS fact
  JOIN tenant_generations AS counted ON counted.tenant_id = fact.tenant_id AND counted.generation > 0;

  FOREACH fenced IN ARRAY source_tables LOOP
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', fenced);
  END LOOP;

  FOREACH fenced IN ARRAY ARRAY['access_history', 'access_effects'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', fenced);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', fenced);
    EXECUTE format('CREATE POLICY tenant_fence ON %I USING (tenant_id = current_tenant())', fenced);
  END LOOP;
END $$;

GRANT SELECT, INSERT ON access_history, access_effects TO gatehouse_app;
-- Earlier migrations may have changed what new tables are granted.
REVOKE UPDATE, DELETE ON access_history, access_effects FROM gatehouse_app;

-- As before, and the history with the entries: of each record, and of the effects, the last version before the cut stays.
CREATE OR REPLACE FUNCTION delete_pruned_events() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
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
