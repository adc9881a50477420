-- The session in which a person approved a program (docs/decisions/0279). Whoever ends that session also ends the
-- session of the program. Null for other sessions, and for programs that were approved before this migration. Not a
-- foreign key, because the program stays signed in if the approving session only expires.
ALTER TABLE sessions ADD COLUMN approver_id uuid;
CREATE INDEX sessions_by_approver ON sessions (tenant_id, approver_id) WHERE approver_id IS NOT NULL;
