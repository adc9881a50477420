-- Devices that run another WireGuard program instead of our agent (docs/decisions/0151).

ALTER TABLE devices ADD COLUMN agent boolean NOT NULL DEFAULT true;
