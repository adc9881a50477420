-- Access effects, the access history and the operator's events become part of signed chains (docs/decisions/0069).

-- The hash of the effects and facts that the command stored (access_record_hash); null if it stored none. Older seals
-- have none: their rows are covered by an entry of the operation sealAccessHistory.
ALTER TABLE audit_seals ADD COLUMN details bytea;

-- The generation whose seal covers the effect, if the effect was computed after its own command had committed.
ALTER TABLE access_effects ADD COLUMN sealed_in bigint;
CREATE INDEX access_effects_by_seal ON access_effects (tenant_id, (coalesce(sealed_in, generation)));

-- SHA-256 over the hashes of the effects and facts that the seals after one generation and through another cover; null
-- if there are none. platform/audit/access-rows.ts computes the same hash.
CREATE FUNCTION access_record_hash(tenant uuid, after_generation bigint, through_generation bigint) RETURNS bytea
LANGUAGE sql STABLE AS $$
  SELECT sha256(string_agg(item.hash, ''::bytea ORDER BY item.part, item.generation, item.kind COLLATE "C", item.record COLLATE "C"))
  FROM (
    SELECT 1 AS part, generation, '' AS kind, '' AS record,
           sha256(int8send(generation) || int8send((extract(epoch FROM since) * 1000)::bigint)
                  || coalesce(sha256(convert_to(summary::text, 'UTF8')), ''::bytea)) AS hash
    FROM access_effects
    WHERE tenant_id = tenant AND coalesce(sealed_in, generation) > after_generation
      AND coalesce(sealed_in, generation) <= through_generation
    UNION ALL
    SELECT 2, generation, kind, record,
           sha256(sha256(convert_to(kind, 'UTF8')) || sha256(convert_to(record, 'UTF8')) || int8send(generation)
                  || int8send(first_generation) || coalesce(sha256(convert_to(facts::text, 'UTF8')), ''::bytea))
    FROM access_history
    WHERE tenant_id = tenant AND generation > after_generation AND generation <= through_generation
  ) AS item
$$;
GRANT EXECUTE ON FUNCTION access_record_hash(uuid, bigint, bigint) TO gatehouse_app;

-- Whether all effects and facts of the tenant are in its chain. False only for tenants from before this migration,
-- until a background task has added an entry that covers the older rows.
ALTER TABLE tenant_generations ADD COLUMN history_sealed boolean NOT NULL DEFAULT true;
-- Row-level security binds the owner too.
ALTER TABLE tenant_generations NO FORCE ROW LEVEL SECURITY;
UPDATE tenant_generations SET history_sealed = false WHERE generation > 0;
ALTER TABLE tenant_generations FORCE ROW LEVEL SECURITY;

-- The check of signed heads covers all tenants with one query.
CREATE POLICY operator_follows ON audit_seals FOR SELECT USING (is_operator());
CREATE POLICY operator_follows ON audit_stubs FOR SELECT USING (is_operator());

-- The operator's record ---------------------------------------------------------------------------------------------

ALTER TABLE operator_events
  ADD COLUMN reason   text,
  ADD COLUMN position bigint,
  ADD COLUMN hash     bytea;

-- The end of the operator's chain. One row.
CREATE TABLE operator_chain (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  position bigint NOT NULL,
  hash     bytea  NOT NULL
);
INSERT INTO operator_chain (position, hash) VALUES (0, decode(repeat('00', 32), 'hex'));

-- Signed ends of the operator's chain.
CREATE TABLE operator_checkpoints (
  position   bigint PRIMARY KEY,
  hash       bytea NOT NULL,
  created_at timestamptz(3) NOT NULL,
  signature  bytea NOT NULL
);

-- The hash of an entry without its place. platform/audit/operator-record.ts computes the same hash.
CREATE FUNCTION operator_event_hash(event operator_events) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
  SELECT sha256(string_agg(sha256(convert_to(coalesce('=' || field.value, ''), 'UTF8')), ''::bytea ORDER BY field.place))
  FROM unnest(ARRAY[
    event.id::text, ((extract(epoch FROM event.created_at) * 1000)::bigint)::text, event.actor_type, event.actor_name,
    event.operation, event.tenant_id::text, event.before::text, event.after::text, event.request_id,
    event.source_address, event.reason
  ]) WITH ORDINALITY AS field (value, place)
$$;

CREATE FUNCTION chain_operator_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE operator_chain
  SET position = position + 1, hash = sha256(hash || int8send(position + 1) || operator_event_hash(NEW))
  RETURNING position, hash INTO NEW.position, NEW.hash;
  RETURN NEW;
END $$;
CREATE TRIGGER chain_event BEFORE INSERT ON operator_events FOR EACH ROW EXECUTE FUNCTION chain_operator_event();

DO $$
DECLARE
  event operator_events;
  place operator_chain;
BEGIN
  ALTER TABLE operator_events NO FORCE ROW LEVEL SECURITY;
  FOR event IN SELECT * FROM operator_events ORDER BY created_at, id LOOP
    UPDATE operator_chain
    SET position = position + 1, hash = sha256(hash || int8send(position + 1) || operator_event_hash(event))
    RETURNING * INTO place;
    UPDATE operator_events SET position = place.position, hash = place.hash WHERE id = event.id;
  END LOOP;
  ALTER TABLE operator_events FORCE ROW LEVEL SECURITY;
END $$;
ALTER TABLE operator_events ALTER COLUMN position SET NOT NULL, ALTER COLUMN hash SET NOT NULL;
ALTER TABLE operator_events ADD CONSTRAINT operator_events_position_unique UNIQUE (position);
CREATE INDEX operator_events_by_tenant ON operator_events (tenant_id);

-- Heads that the operator accepted although they contradict a signed head, such as after restoring a backup.
CREATE TABLE audit_accepted_heads (
  -- The tenant of the record; the nil UUID for the operator's record. The tenant may be gone.
  record_id  uuid NOT NULL,
  created_at timestamptz(3) NOT NULL,
  -- 0: the record may be gone.
  position   bigint NOT NULL,
  generation bigint NOT NULL,
  hash       bytea NOT NULL,
  reason     text NOT NULL,
  signature  bytea NOT NULL,
  PRIMARY KEY (record_id, created_at)
);

DO $$
DECLARE
  fenced text;
BEGIN
  FOREACH fenced IN ARRAY ARRAY['operator_chain', 'operator_checkpoints', 'audit_accepted_heads'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', fenced);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', fenced);
    EXECUTE format('CREATE POLICY operator_only ON %I USING (is_operator())', fenced);
  END LOOP;
END $$;
GRANT SELECT, UPDATE ON operator_chain TO gatehouse_app;
GRANT SELECT, INSERT ON operator_checkpoints, audit_accepted_heads TO gatehouse_app;
-- Earlier migrations may have changed what new tables are granted.
REVOKE INSERT, DELETE ON operator_chain FROM gatehouse_app;
REVOKE UPDATE, DELETE ON operator_checkpoints, audit_accepted_heads FROM gatehouse_app;
