import Type, { type Static } from "typebox";
import { closedObject, component, nullable, shortText } from "../schema.ts";

/** Limits of a gateway's settings. */
export const gatewaySettingsLimits = { resolvers: 8, domains: 500, networks: 500 } as const;

/** A port number in decimal, "1" to "65535". */
export const portPattern = "^([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$";

const IpText = shortText(45, "An IPv4 or IPv6 address.");

const GatewayDomain = component("GatewayDomain", "A domain with its own resolvers.", {
  domain: shortText(254, "A domain, including all names below it."),
  resolvers: Type.Array(IpText, {
    minItems: 1,
    maxItems: gatewaySettingsLimits.resolvers,
    description: "Resolvers for names in the domain, in order.",
  }),
});

export const gatewaySettingsFields = {
  resolvers: Type.Array(IpText, {
    maxItems: gatewaySettingsLimits.resolvers,
    description:
      "Resolvers of the site, in the order in which they are queried. If empty, the gateway uses its machine's resolvers.",
  }),
  domains: Type.Array(GatewayDomain, {
    maxItems: gatewaySettingsLimits.domains,
    description: "Domains with their own resolvers. The longest matching domain applies.",
  }),
  networks: Type.Array(shortText(49, "An address or a CIDR of a private network."), {
    maxItems: gatewaySettingsLimits.networks,
    description: "Networks behind the gateway, for traffic between sites.",
  }),
};

const networks = nullable(gatewaySettingsFields.networks);
const relayPort = nullable(
  Type.String({
    pattern: portPattern,
    description:
      'The UDP port, "1" to "65535", on which relays accept packets for this gateway. If null, no gateway relays for it. Has an effect only while the gateway has an `endpoint`.',
  }),
);

export const GatewaySettings = component(
  "GatewaySettings",
  "Settings of a gateway's site. If `networks` is null, the networks are the addresses of the private resources that list this gateway first.",
  { resolvers: gatewaySettingsFields.resolvers, domains: gatewaySettingsFields.domains, networks, relayPort },
);
export type GatewaySettings = Static<typeof GatewaySettings>;

/** A change of the settings. Omitted fields stay unchanged. */
export const NewGatewaySettings = closedObject({
  resolvers: Type.Optional(gatewaySettingsFields.resolvers),
  domains: Type.Optional(gatewaySettingsFields.domains),
  networks: Type.Optional(networks),
  relayPort: Type.Optional(relayPort),
});
