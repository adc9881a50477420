import Type, { type Static } from "typebox";
import { component, Description, identity, Name, nullable, oneOf, shortText, Timestamp, Uuid } from "../schema.ts";

/** The endpoint of a gateway in a request. */
export const Endpoint = shortText(
  255,
  'Host name or IP address that devices connect to; "" discovers it automatically.',
);

export const gatewayStatuses = ["PENDING", "ONLINE", "OFFLINE", "MAINTENANCE", "ERROR"] as const;
export type GatewayStatus = (typeof gatewayStatuses)[number];

/** What stands in place of a gateway's token for callers without `gateways:token`. */
export const redactedToken = "<redacted>";

export const GatewayResource = component("GatewayResource", "A resource as a gateway shows it.", {
  id: Uuid,
  name: Name,
});
export type GatewayResource = Static<typeof GatewayResource>;

export const Gateway = component("Gateway", "A network gateway: its configuration and its state.", {
  ...identity,
  deployedOn: nullable(Timestamp),
  name: Name,
  description: Type.Optional(Description),
  wireguardPort: Type.String({ pattern: "^[0-9]{1,5}$" }),
  status: oneOf(gatewayStatuses),
  error: Type.Optional(Type.String({ description: "Why the status is ERROR." })),
  token: Type.String({ description: "A secret. `<redacted>` unless the key holds `gateways:token`." }),
  lastOnline: Type.Optional(Timestamp),
  relayEnabled: Type.Optional(Type.Boolean()),
  endpoint: Type.Optional(Type.String()),
  autoDiscoverEndpoint: Type.Boolean(),
  publicKey: Type.Optional(
    Type.String({ description: "Of its WireGuard interface, as its agent told it; absent before the first time." }),
  ),
  agentVersion: Type.Optional(Type.String({ description: "The version of its agent, as it told it." })),
  resources: Type.Optional(
    Type.Array(GatewayResource, {
      description: "Resources reachable through the gateway; left out where another record embeds the gateway.",
    }),
  ),
});
export type Gateway = Static<typeof Gateway>;

export const gatewayTestStatuses = ["ONLINE", "MAINTENANCE", "NOT_REACHABLE", "ERROR", "UNRECOGNIZED"] as const;

export const GatewayTest = component("GatewayTest", "What is known of a gateway's state.", {
  status: oneOf(gatewayTestStatuses),
  details: Type.Optional(Type.String({ description: "What the status was concluded from." })),
  error: Type.Optional(Type.String({ description: "What the gateway reported as failed." })),
});
export type GatewayTest = Static<typeof GatewayTest>;
