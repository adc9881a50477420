-- A device that a person enrolled can wait for an administrator (docs/decisions/0115).

ALTER TABLE devices ADD COLUMN approval_pending boolean NOT NULL DEFAULT false;
-- Reactivation is the approval.
ALTER TABLE devices ADD CONSTRAINT devices_approval CHECK (NOT (active AND approval_pending));
CREATE INDEX devices_pending ON devices (tenant_id, id) WHERE approval_pending;

ALTER TABLE tenant_settings ADD COLUMN device_approval text NOT NULL DEFAULT 'automatic'
  CHECK (device_approval IN ('automatic', 'administrator'));
