-- Proof of WireGuard keys, and the permission to replace one (docs/decisions/0104).

ALTER TABLE gateways
  -- Whether the agent has proved possession of its public key. From then on, it has to prove it on every link.
  ADD COLUMN key_proved boolean NOT NULL DEFAULT false,
  -- Until then, the agent may report another key without a proof of the present one. Null: not at all.
  ADD COLUMN key_reset_until timestamptz(3);
ALTER TABLE devices
  ADD COLUMN key_proved boolean NOT NULL DEFAULT false,
  ADD COLUMN key_reset_until timestamptz(3);
