-- A transaction of its own: the check reads the whole audit record, and must not hold up commands meanwhile.
ALTER TABLE audit_events VALIDATE CONSTRAINT audit_events_actor_type_check;
