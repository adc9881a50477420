-- Groups of identity providers, and domains of tenants (docs/decisions/0110, 0111).

-- What administrators should know about an attempt that succeeded.
ALTER TABLE sign_in_attempts ADD COLUMN note text;

-- Memberships that exist because a provider sent a group that the group's idpMapping names. A membership without a row
-- here was given directly, and no sign-in ends it.
CREATE TABLE mapped_memberships (
  tenant_id   uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  provider_id uuid NOT NULL,
  user_id     uuid NOT NULL,
  group_id    uuid NOT NULL,
  PRIMARY KEY (tenant_id, user_id, group_id, provider_id),
  FOREIGN KEY (tenant_id, provider_id) REFERENCES identity_providers (tenant_id, id) ON DELETE CASCADE,
  FOREIGN KEY (tenant_id, user_id, group_id) REFERENCES group_members (tenant_id, user_id, group_id) ON DELETE CASCADE
);
CREATE INDEX mapped_memberships_by_provider ON mapped_memberships (tenant_id, provider_id);

-- E-mail domains that a tenant has named. A domain counts once its owner has published the token in DNS.
CREATE TABLE tenant_domains (
  tenant_id   uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  id          uuid NOT NULL,
  created_at  timestamptz(3) NOT NULL,
  updated_at  timestamptz(3) NOT NULL,
  version     integer NOT NULL DEFAULT 1,
  -- Lower-case, in ASCII.
  domain      text NOT NULL CHECK (domain = lower(domain) AND length(domain) <= 253),
  -- Published in DNS, so not secret.
  token       text NOT NULL,
  verified_at timestamptz(3),
  PRIMARY KEY (tenant_id, id),
  CONSTRAINT tenant_domains_domain_unique UNIQUE (tenant_id, domain)
);
-- Sign-in finds one tenant by a domain.
CREATE UNIQUE INDEX tenant_domains_verified_unique ON tenant_domains (domain) WHERE verified_at IS NOT NULL;

DO $$
DECLARE
  fenced text;
BEGIN
  FOREACH fenced IN ARRAY ARRAY['mapped_memberships', 'tenant_domains'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', fenced);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', fenced);
    EXECUTE format('CREATE POLICY tenant_fence ON %I USING (tenant_id = current_tenant())', fenced);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO gatehouse_app', fenced);
  END LOOP;
END $$;

-- A person who signs in presents the slug of a tenant, or a domain, and reads only its row.
CREATE POLICY presented_slug ON tenants FOR SELECT
  USING (sha256(convert_to(slug, 'UTF8')) = decode(nullif(current_setting('app.presented_key_hash', true), ''), 'hex'));
CREATE POLICY presented_domain ON tenant_domains FOR SELECT
  USING (verified_at IS NOT NULL AND sha256(convert_to(domain, 'UTF8'))
    = decode(nullif(current_setting('app.presented_key_hash', true), ''), 'hex'));
