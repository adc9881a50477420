-- Who ended a session of a device and why, and devices whose users must sign in again (docs/decisions/0155).

ALTER TABLE device_sessions
  -- Both are null for sessions that were ended before these columns existed, and mean nothing unless the session ended.
  ADD COLUMN end_reason       text CHECK (end_reason IN ('sign-in-required', 'signed-out', 'signed-out-at-provider',
    'device-deactivated', 'user-deactivated', 'passkeys-reset', 'provider-deleted')),
  -- The actor as audit entries show it: type, id and name.
  ADD COLUMN ended_by         jsonb,
  -- Whether the device is not trusted until its user signs in again, also if the tenant sets no lifetime.
  -- Replicas of the version before leave it set when a user signs in. It means nothing without `ended_at`.
  ADD COLUMN sign_in_required boolean NOT NULL DEFAULT false;
