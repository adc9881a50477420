-- The creator of an enrolment link limits what the link gives (docs/decisions/0258).

ALTER TABLE enrolment_links
  -- Null for links that replicas of the previous version created, and for those without an audit entry. Such links
  -- grant no permissions.
  ADD COLUMN created_by_type text,
  -- Null for the system.
  ADD COLUMN created_by_id   uuid;

-- Row-level security binds the owner too.
ALTER TABLE enrolment_links NO FORCE ROW LEVEL SECURITY;
ALTER TABLE audit_events NO FORCE ROW LEVEL SECURITY;
UPDATE enrolment_links AS link SET created_by_type = item.actor_type, created_by_id = item.actor_id
FROM audit_events AS item
WHERE item.tenant_id = link.tenant_id AND item.target_id = link.id AND item.target_type = 'enrolment-link'
  AND item.before IS NULL AND link.used_at IS NULL;
ALTER TABLE audit_events FORCE ROW LEVEL SECURITY;
ALTER TABLE enrolment_links FORCE ROW LEVEL SECURITY;
