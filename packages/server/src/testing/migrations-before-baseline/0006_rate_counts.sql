-- What replicas count together for their rate limits. It concerns no tenant, is told about once a second, and may be lost:
-- hence UNLOGGED, which a crash of PostgreSQL empties.
CREATE UNLOGGED TABLE rate_counts (
  -- What is counted: 'key:' and the id of an API key, or 'address:' and an address or the /64 that it belongs to.
  name         text NOT NULL,
  window_start timestamptz(3) NOT NULL,
  count        bigint NOT NULL,
  PRIMARY KEY (name, window_start)
) WITH (fillfactor = 50);

ALTER TABLE rate_counts ENABLE ROW LEVEL SECURITY;
ALTER TABLE rate_counts FORCE ROW LEVEL SECURITY;
CREATE POLICY operator_only ON rate_counts USING (is_operator());

GRANT SELECT, INSERT, UPDATE, DELETE ON rate_counts TO gatehouse_app;
