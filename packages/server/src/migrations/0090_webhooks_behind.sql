-- A webhook with too many pending deliveries leaves its events in the audit record (docs/decisions/0253).
ALTER TABLE webhooks
  ADD COLUMN behind_since timestamptz(3),
  DROP CONSTRAINT webhooks_disabled_reason_check,
  ADD CONSTRAINT webhooks_disabled_reason_check CHECK (disabled_reason IN ('GONE', 'FAILING', 'BEHIND'));
