-- Rows that a health check writes and deletes after a write has failed, to find out whether the database can write again.
-- They concern no tenant.
CREATE TABLE write_probes (
  id      uuid PRIMARY KEY,
  payload bytea NOT NULL
);
-- Stored as it is: the row must need space on the disk.
ALTER TABLE write_probes ALTER COLUMN payload SET STORAGE EXTERNAL;

ALTER TABLE write_probes ENABLE ROW LEVEL SECURITY;
ALTER TABLE write_probes FORCE ROW LEVEL SECURITY;
CREATE POLICY operator_only ON write_probes USING (is_operator());

GRANT SELECT, INSERT, DELETE ON write_probes TO gatehouse_app;
