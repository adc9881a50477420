-- A person enrols a device by signing in (docs/decisions/0114).

-- The device that a program asks to enrol: name, system, hardware id and public key.
ALTER TABLE device_requests ADD COLUMN device jsonb;

-- The device that the code enrolled. Its token is given out once, in exchange for the code.
ALTER TABLE authorization_codes ADD COLUMN device_id uuid;
ALTER TABLE authorization_codes ADD CONSTRAINT authorization_codes_device_fkey
  FOREIGN KEY (tenant_id, device_id) REFERENCES devices (tenant_id, id) ON DELETE CASCADE;
CREATE INDEX authorization_codes_by_device ON authorization_codes (tenant_id, device_id);
