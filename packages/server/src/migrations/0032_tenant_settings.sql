-- Settings that apply to a tenant as a whole (docs/decisions/0081). Each setting is a column with a default.

CREATE TABLE tenant_settings (
  tenant_id              uuid PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
  updated_at             timestamptz(3) NOT NULL,
  version                integer NOT NULL DEFAULT 1,
  -- How long agents may enforce a configuration without the control plane, in seconds.
  configuration_lifetime integer NOT NULL DEFAULT 86400 CHECK (configuration_lifetime BETWEEN 600 AND 604800)
);

ALTER TABLE tenants NO FORCE ROW LEVEL SECURITY;
INSERT INTO tenant_settings (tenant_id, updated_at) SELECT id, created_at FROM tenants;
ALTER TABLE tenants FORCE ROW LEVEL SECURITY;

ALTER TABLE tenant_settings ENABLE ROW LEVEL SECURITY;
ALTER TABLE tenant_settings FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_fence ON tenant_settings USING (tenant_id = current_tenant());
GRANT SELECT, INSERT, UPDATE ON tenant_settings TO gatehouse_app;
-- Earlier migrations may have changed what new tables are granted.
REVOKE DELETE ON tenant_settings FROM gatehouse_app;
