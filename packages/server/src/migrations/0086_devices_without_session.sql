-- Indexes of the few records that the list of device sessions omits (docs/decisions/0237).

CREATE INDEX users_inactive ON users (tenant_id, id) WHERE status = 'inactive';
-- An inactive device can have a session all the same.
CREATE INDEX devices_maybe_without_session ON devices (tenant_id, id)
  WHERE NOT active OR user_id IS NULL OR enrolment_key_id IS NOT NULL;
