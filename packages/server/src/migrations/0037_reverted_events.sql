-- Entries of a revert name the event that they revert (docs/decisions/0077).

-- Without a foreign key, because the reverted event can be pruned before the entries of its revert.
ALTER TABLE audit_events ADD COLUMN reverts uuid;
CREATE INDEX audit_events_by_reverted ON audit_events (tenant_id, reverts, position) WHERE reverts IS NOT NULL;
