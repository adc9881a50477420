-- Effects of commands that were too expensive to compute before the commit (docs/decisions/0076).

-- Inserted with the command, without a summary: the effect is pending. Pruned with the effect.
CREATE TABLE access_late_effects (
  tenant_id   uuid NOT NULL,
  generation  bigint NOT NULL,
  -- The time of the commit, approximately.
  since       timestamptz(3) NOT NULL,
  computed_at timestamptz(3),
  summary     json,
  PRIMARY KEY (tenant_id, generation),
  FOREIGN KEY (tenant_id, generation) REFERENCES access_effects ON DELETE CASCADE,
  CHECK ((summary IS NULL) = (computed_at IS NULL))
);
-- Any replica completes the effects that another one did not.
CREATE INDEX access_late_effects_pending ON access_late_effects (since) WHERE summary IS NULL;

ALTER TABLE access_late_effects ENABLE ROW LEVEL SECURITY;
ALTER TABLE access_late_effects FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_fence ON access_late_effects USING (tenant_id = current_tenant());
CREATE POLICY operator_follows ON access_late_effects FOR SELECT USING (is_operator() AND summary IS NULL);
GRANT SELECT, INSERT, UPDATE (summary, computed_at) ON access_late_effects TO gatehouse_app;
-- Earlier migrations may have changed what new tables are granted.
REVOKE DELETE ON access_late_effects FROM gatehouse_app;

-- An effect is computed once.
CREATE OR REPLACE FUNCTION keep_late_effect() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE insufficient_privilege USING MESSAGE = 'a computed effect cannot be changed';
END $$;
CREATE TRIGGER keep_late_effect BEFORE UPDATE ON access_late_effects
  FOR EACH ROW WHEN (OLD.summary IS NOT NULL) EXECUTE FUNCTION keep_late_effect();
