-- Webhooks: where a tenant's audit entries are delivered, and what came of it.

CREATE TABLE webhooks (
  tenant_id         uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id                uuid NOT NULL,
  created_at        timestamptz(3) NOT NULL,
  updated_at        timestamptz(3) NOT NULL,
  version           integer NOT NULL DEFAULT 1,
  name              text NOT NULL,
  url               text NOT NULL,
  -- What is delivered; everything where empty.
  events            text[] NOT NULL DEFAULT '{}',
  active            boolean NOT NULL DEFAULT true,
  description       text NOT NULL DEFAULT '',
  disabled_reason   text CHECK (disabled_reason IN ('GONE', 'FAILING')),
  disabled_at       timestamptz(3),
  -- The first failed attempt since the last successful one.
  failing_since     timestamptz(3),
  -- The last audit entry that was looked at. Entries of one generation commit together, and generations in order.
  cursor_generation bigint NOT NULL,
  cursor_event_id   uuid NOT NULL,
  PRIMARY KEY (tenant_id, id),
  CHECK ((disabled_reason IS NULL) = (disabled_at IS NULL)),
  CHECK (disabled_reason IS NULL OR NOT active)
);
CREATE INDEX webhooks_following ON webhooks (tenant_id, cursor_generation) WHERE active;

-- AES-256-GCM under the master key. The one without an end signs; during a rotation, the former one as well.
CREATE TABLE webhook_secrets (
  tenant_id  uuid NOT NULL,
  webhook_id uuid NOT NULL,
  id         uuid NOT NULL,
  ciphertext bytea NOT NULL,
  expires_at timestamptz(3),
  PRIMARY KEY (tenant_id, webhook_id, id),
  FOREIGN KEY (tenant_id, webhook_id) REFERENCES webhooks ON DELETE CASCADE
);

-- One message to one webhook. It refers to the audit entry without a foreign key: old entries are cleared away.
CREATE TABLE webhook_deliveries (
  tenant_id       uuid NOT NULL,
  id              uuid NOT NULL,
  webhook_id      uuid NOT NULL,
  created_at      timestamptz(3) NOT NULL,
  updated_at      timestamptz(3) NOT NULL,
  version         integer NOT NULL DEFAULT 1,
  -- Null for a test.
  event_id        uuid,
  type            text NOT NULL,
  status          text NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'DELIVERED', 'FAILED')),
  -- [{"at": …, "statusCode": …, "error": …, "durationMs": …}, …] as the API shows it.
  attempts        jsonb NOT NULL DEFAULT '[]',
  -- Failed attempts since the message was made, or delivered by hand.
  failures        integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz(3),
  -- The job that is to make the attempt, and until when it is trusted to; then another one is made.
  job_id          uuid,
  queued_until    timestamptz(3),
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id, webhook_id) REFERENCES webhooks ON DELETE CASCADE,
  CHECK ((status = 'PENDING') = (next_attempt_at IS NOT NULL)),
  CHECK ((job_id IS NULL) = (queued_until IS NULL))
);
CREATE INDEX webhook_deliveries_by_webhook ON webhook_deliveries (tenant_id, webhook_id, id);
CREATE INDEX webhook_deliveries_by_time ON webhook_deliveries (tenant_id, created_at);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (tenant_id, webhook_id, next_attempt_at, id)
  WHERE status = 'PENDING';
CREATE INDEX webhook_deliveries_queued ON webhook_deliveries (tenant_id, webhook_id, queued_until)
  WHERE status = 'PENDING' AND queued_until IS NOT NULL;

CREATE INDEX audit_events_by_generation ON audit_events (tenant_id, generation, id);

DO $$
DECLARE
  fenced text;
BEGIN
  FOREACH fenced IN ARRAY ARRAY['webhooks', 'webhook_secrets', 'webhook_deliveries'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', fenced);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', fenced);
    EXECUTE format('CREATE POLICY tenant_fence ON %I USING (tenant_id = current_tenant())', fenced);
  END LOOP;
END $$;

-- The dispatcher looks over all tenants for work: whose webhooks are behind, whose deliveries are due. It then does the
-- work inside each tenant.
CREATE POLICY operator_follows ON webhooks FOR SELECT USING (is_operator());
CREATE POLICY operator_follows ON webhook_deliveries FOR SELECT USING (is_operator() AND status = 'PENDING');

GRANT SELECT, INSERT, UPDATE, DELETE ON webhooks, webhook_secrets, webhook_deliveries TO gatehouse_app;
