-- Sessions of devices (docs/decisions/0125).

ALTER TABLE tenant_settings
  -- How long a device is trusted after its user signed in on it, in seconds; null for ever.
  ADD COLUMN device_session_lifetime integer CHECK (device_session_lifetime BETWEEN 900 AND 31536000),
  -- When the lifetime was first set. All present devices are trusted for one lifetime from then on.
  ADD COLUMN device_sessions_since   timestamptz(3),
  ADD CONSTRAINT tenant_settings_device_sessions
    CHECK ((device_session_lifetime IS NULL) = (device_sessions_since IS NULL));

-- The latest session of each device. Its end is not stored: it follows from the lifetime, which can change.
CREATE TABLE device_sessions (
  tenant_id        uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  device_id        uuid NOT NULL,
  -- When the user approved the sign-in on the device; null if the session was ended before anyone signed in.
  signed_in_at     timestamptz(3),
  -- When and how the user had authenticated (RFC 8176).
  authenticated_at timestamptz(3),
  methods          text[] NOT NULL DEFAULT '{}',
  provider_id      uuid,
  -- The provider's own session, for back-channel logout.
  provider_session text,
  -- When the session was ended before its time.
  ended_at         timestamptz(3),
  PRIMARY KEY (tenant_id, device_id),
  FOREIGN KEY (tenant_id, device_id) REFERENCES devices (tenant_id, id) ON DELETE CASCADE,
  FOREIGN KEY (tenant_id, provider_id) REFERENCES identity_providers (tenant_id, id) ON DELETE SET NULL (provider_id),
  CHECK ((signed_in_at IS NULL) = (authenticated_at IS NULL)),
  CHECK (signed_in_at IS NOT NULL OR ended_at IS NOT NULL)
);
CREATE INDEX device_sessions_by_provider ON device_sessions (tenant_id, provider_id, provider_session);

ALTER TABLE device_sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE device_sessions FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_fence ON device_sessions USING (tenant_id = current_tenant());
GRANT SELECT, INSERT, UPDATE, DELETE ON device_sessions TO gatehouse_app;

-- Whether the code began a new session of the device, instead of enrolling the device.
ALTER TABLE authorization_codes ADD COLUMN renews boolean NOT NULL DEFAULT false;
