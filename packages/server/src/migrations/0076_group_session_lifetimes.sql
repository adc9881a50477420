-- Lifetimes of device sessions by group (docs/decisions/0150).

ALTER TABLE groups
  -- How long devices of members are trusted after their users signed in on them, in seconds; null for no limit.
  ADD COLUMN device_session_lifetime integer CHECK (device_session_lifetime BETWEEN 900 AND 31536000),
  -- When the lifetime was last set on a group without one. Present devices are trusted for one lifetime from then on.
  -- It stays when the lifetime is removed: the devices of members then have to be read again.
  ADD COLUMN device_sessions_since   timestamptz(3),
  ADD CONSTRAINT groups_device_sessions CHECK (device_session_lifetime IS NULL OR device_sessions_since IS NOT NULL);
CREATE INDEX groups_with_session_lifetime ON groups (tenant_id, id) WHERE device_session_lifetime IS NOT NULL;
