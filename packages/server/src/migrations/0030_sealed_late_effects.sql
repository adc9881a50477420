-- Late effects become part of the audit chain (docs/decisions/0080).

-- The generation whose seal covers the computed effect: that of the system's entry about the computation.
ALTER TABLE access_late_effects ADD COLUMN sealed_in bigint;
GRANT UPDATE (sealed_in) ON access_late_effects TO gatehouse_app;

-- Effects that were computed before this migration are computed again, with an entry.
ALTER TABLE access_late_effects NO FORCE ROW LEVEL SECURITY;
ALTER TABLE access_late_effects DISABLE TRIGGER keep_late_effect;
UPDATE access_late_effects SET summary = NULL, computed_at = NULL WHERE summary IS NOT NULL;
ALTER TABLE access_late_effects ENABLE TRIGGER keep_late_effect;
ALTER TABLE access_late_effects FORCE ROW LEVEL SECURITY;
ALTER TABLE access_late_effects ADD CHECK ((summary IS NULL) = (sealed_in IS NULL));

-- An effect can be pruned before the seal that covers its late effect. The late effect then stays until that seal is
-- pruned, so the two are no longer deleted together.
ALTER TABLE access_late_effects DROP CONSTRAINT access_late_effects_tenant_id_generation_fkey;
ALTER TABLE access_late_effects ADD FOREIGN KEY (tenant_id) REFERENCES tenants ON DELETE CASCADE;
CREATE INDEX access_late_effects_by_seal ON access_late_effects (tenant_id, (coalesce(sealed_in, generation)))
  WHERE summary IS NOT NULL;

-- SHA-256 over the hashes of the effects, facts and late effects that the seals after one generation and through
-- another cover; null if there are none. platform/audit/access-rows.ts computes the same hash.
CREATE OR REPLACE FUNCTION access_record_hash(tenant uuid, after_generation bigint, through_generation bigint)
RETURNS bytea LANGUAGE sql STABLE AS $$
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
    UNION ALL
    SELECT 3, generation, '', '',
           sha256(int8send(generation) || int8send((extract(epoch FROM computed_at) * 1000)::bigint)
                  || sha256(convert_to(summary::text, 'UTF8')))
    FROM access_late_effects
    WHERE tenant_id = tenant AND summary IS NOT NULL AND coalesce(sealed_in, generation) > after_generation
      AND coalesce(sealed_in, generation) <= through_generation
  ) AS item
$$;

-- Like before, and deletes the late effects of deleted effects, unless a later seal covers them.
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
  DELETE FROM access_late_effects AS late
  WHERE late.tenant_id = stub.tenant_id AND coalesce(late.sealed_in, late.generation) <= stub.generation
    AND NOT EXISTS (
      SELECT FROM access_effects AS effect
      WHERE effect.tenant_id = late.tenant_id AND effect.generation = late.generation);
  RETURN deleted;
END $$;
