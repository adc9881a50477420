-- What only the administrator of a gateway's site knows.

ALTER TABLE gateways
  -- Resolvers of the site, in order.
  ADD COLUMN resolvers        text[] NOT NULL DEFAULT '{}',
  -- [{"domain": …, "resolvers": […]}]: domains with resolvers of their own.
  ADD COLUMN resolver_domains jsonb NOT NULL DEFAULT '[]',
  -- Blocks behind the gateway, with their prefix lengths; null: those of its resources.
  ADD COLUMN networks         text[],
  -- Where relays take packets for it; null: none does.
  ADD COLUMN relay_port       integer CHECK (relay_port BETWEEN 1 AND 65535),
  -- Deferred: a configuration may move a port from one gateway to another. Commands look before they write.
  ADD CONSTRAINT gateways_relay_port_unique UNIQUE (tenant_id, relay_port) DEFERRABLE INITIALLY DEFERRED;

-- What its agent cannot do beside enforcing, as its last heartbeat says: a list of texts.
ALTER TABLE gateway_links ADD COLUMN warnings jsonb NOT NULL DEFAULT '[]';
