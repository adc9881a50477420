import Type, { type Static } from "typebox";
import { closedObject, component, nullable, shortText } from "../schema.ts";

/** How much a gateway's settings may hold. */
export const gatewaySettingsLimits = { resolvers: 8, domains: 500, networks: 500 } as const;

/** A port number in decimal, "1" to "65535". */
export const portPattern = "^([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$";

const IpText = shortText(45, "An IPv4 or IPv6 address.");

const GatewayDomain = component("GatewayDomain", "A domain whose names resolvers of its own know.", {
  domain: shortText(254, "A domain; the names below it belong to it."),
  resolvers: Type.Array(IpText, {
    minItems: 1,
    maxItems: gatewaySettingsLimits.resolvers,
    description: "Who is asked for its names, in order.",
  }),
});

export const gatewaySettingsFields = {
  resolvers: Type.Array(IpText, {
    maxItems: gatewaySettingsLimits.resolvers,
    description: "Resolvers of the site, in the order in which they are asked; none: those of the gateway's machine.",
  }),
  domains: Type.Array(GatewayDomain, {
    maxItems: gatewaySettingsLimits.domains,
    description: "Domains with resolvers of their own; for a name below several of them, the longest counts.",
  }),
  networks: Type.Array(shortText(49, "An address or a CIDR of a private network."), {
    maxItems: gatewaySettingsLimits.networks,
    description: "The networks behind the gateway, for traffic between sites.",
  }),
};

const networks = nullable(gatewaySettingsFields.networks);
const relayPort = nullable(
  Type.String({
    pattern: portPattern,
    description:
      'The UDP port, "1" to "65535", on which relays take packets for this gateway; null: no gateway relays for it. Counts while the gateway has an `endpoint`.',
  }),
);

export const GatewaySettings = component(
  "GatewaySettings",
  "What only the administrator of a gateway's site knows. `networks` null: the addresses of the private resources of which it is the first gateway.",
  { resolvers: gatewaySettingsFields.resolvers, domains: gatewaySettingsFields.domains, networks, relayPort },
);
export type GatewaySettings = Static<typeof GatewaySettings>;

/** What replaces settings: fields that are absent stay as they are. */
export const NewGatewaySettings = closedObject({
  resolvers: Type.Optional(gatewaySettingsFields.resolvers),
  domains: Type.Optional(gatewaySettingsFields.domains),
  networks: Type.Optional(networks),
  relayPort: Type.Optional(relayPort),
});
