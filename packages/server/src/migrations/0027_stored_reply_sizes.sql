-- Limits of the replies that are stored for requests with an Idempotency-Key.

-- The size that the row adds to the total of its tenant; 0 until the command stores its reply.
ALTER TABLE idempotent_replies ADD COLUMN size integer NOT NULL DEFAULT 0;
UPDATE idempotent_replies SET size = octet_length(reply_ciphertext) + 256 WHERE reply_ciphertext IS NOT NULL;

-- Total sizes in bytes. The operator's replies count for the nil UUID, hence no foreign key.
CREATE TABLE idempotent_reply_totals (
  tenant_id uuid NOT NULL,
  -- Requests that only ask a question store no reply, and have a limit of their own.
  kind      text NOT NULL CHECK (kind IN ('reply', 'question')),
  size      bigint NOT NULL,
  PRIMARY KEY (tenant_id, kind)
) WITH (fillfactor = 50);
INSERT INTO idempotent_reply_totals (tenant_id, kind, size)
  SELECT tenant_id, 'reply', sum(size) FROM idempotent_replies GROUP BY tenant_id;

-- Every deletion passes here, whether of expired replies or of a tenant's.
CREATE FUNCTION subtract_deleted_replies() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE idempotent_reply_totals AS total SET size = total.size - gone.size
    FROM (SELECT tenant_id, CASE WHEN reply_ciphertext IS NULL THEN 'question' ELSE 'reply' END AS kind,
                 sum(size) AS size
          FROM deleted_rows GROUP BY 1, 2 ORDER BY 1, 2) AS gone
    WHERE total.tenant_id = gone.tenant_id AND total.kind = gone.kind;
  RETURN NULL;
END $$;
CREATE TRIGGER subtract_deleted AFTER DELETE ON idempotent_replies REFERENCING OLD TABLE AS deleted_rows
  FOR EACH STATEMENT EXECUTE FUNCTION subtract_deleted_replies();

ALTER TABLE idempotent_reply_totals ENABLE ROW LEVEL SECURITY;
ALTER TABLE idempotent_reply_totals FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_fence ON idempotent_reply_totals USING (tenant_id = current_tenant());
CREATE POLICY operator_counts ON idempotent_reply_totals USING (is_operator());

GRANT SELECT, INSERT, UPDATE, DELETE ON idempotent_reply_totals TO gatehouse_app;
