import type { GatewaySettings } from "@gatehouse/contract/records/gateway-settings";
import type { SiteSettings } from "./gateway-settings.rules.ts";

export function settingsView({ resolvers, domains, networks, relayPort }: SiteSettings): GatewaySettings {
  return {
    resolvers: [...resolvers],
    domains: domains.map(({ domain, resolvers: own }) => ({ domain, resolvers: [...own] })),
    networks: networks === null ? null : [...networks],
    relayPort: relayPort === null ? null : String(relayPort),
  };
}
