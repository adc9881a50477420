-- Named views of lists, which belong to a person (docs/decisions/0143).

CREATE TABLE views (
  tenant_id  uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id         uuid NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  version    integer NOT NULL DEFAULT 1,
  user_id    uuid NOT NULL,
  list       text NOT NULL,
  name       text NOT NULL,
  -- Search, filters, sort order, hidden columns, density and page size.
  settings   jsonb NOT NULL,
  PRIMARY KEY (tenant_id, id),
  CONSTRAINT views_name_unique UNIQUE (tenant_id, user_id, list, name),
  FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);

ALTER TABLE views ENABLE ROW LEVEL SECURITY;
ALTER TABLE views FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_fence ON views USING (tenant_id = current_tenant());
GRANT SELECT, INSERT, UPDATE, DELETE ON views TO gatehouse_app;
