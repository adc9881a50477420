import Type, { type Static } from "typebox";
import { component, Description, identity, Name, nullable, oneOf, shortText, Timestamp, Uuid } from "../schema.ts";

/** The endpoint of a gateway in a request. */
export const Endpoint = shortText(
  255,
  'Host name or IP address that devices connect to; "" discovers it automatically.',
);

export const gatewayStatuses = ["PENDING", "ONLINE", "OFFLINE", "MAINTENANCE", "ERROR"] as const;
export type GatewayStatus = (typeof gatewayStatuses)[number];

/** The placeholder for a gateway's token if the caller lacks `gateways:token`, or signed in too long ago. */
export const redactedToken = "<redacted>";

export const GatewayResource = component("GatewayResource", "A resource, as embedded in a gateway.", {
  id: Uuid,
  name: Name,
});
export type GatewayResource = Static<typeof GatewayResource>;

export const Gateway = component("Gateway", "A network gateway with its settings and state.", {
  ...identity,
  deployedOn: nullable(Timestamp),
  name: Name,
  description: Type.Optional(Description),
  wireguardPort: Type.String({ pattern: "^[0-9]{1,5}$" }),
  status: oneOf(gatewayStatuses),
  error: Type.Optional(Type.String({ description: "Why the status is ERROR." })),
  token: Type.String({
    description:
      "The gateway's secret token. `<redacted>` unless the caller holds `gateways:token`. People must also have authenticated in the last 15 minutes. They see the token only in responses to reads and to operations that require this authentication.",
  }),
  formerTokensEndAt: Type.Optional(
    Type.Unsafe<Static<typeof Timestamp>>({
      ...Timestamp,
      description:
        "When the last token that a rotation replaced stops working. Can be in the past. Omitted if no such token is stored, or if another record embeds the gateway.",
    }),
  ),
  lastOnline: Type.Optional(Timestamp),
  relayEnabled: Type.Optional(Type.Boolean()),
  endpoint: Type.Optional(Type.String()),
  autoDiscoverEndpoint: Type.Boolean(),
  publicKey: Type.Optional(
    Type.String({
      description:
        "Public key of the gateway's WireGuard interface, as reported by its agent; omitted before the first connection.",
    }),
  ),
  publicKeyProved: Type.Optional(
    Type.Boolean({
      description: "True if the agent has proved that it has the private key. From then on, it must prove it again.",
    }),
  ),
  keyResetUntil: Type.Optional(
    Type.Unsafe<Static<typeof Timestamp>>({
      ...Timestamp,
      description:
        "Until then, an agent with the current token may replace its key without a proof of the current one.",
    }),
  ),
  agentVersion: Type.Optional(
    Type.String({ description: "Version of the gateway's agent, as reported by the agent." }),
  ),
  resources: Type.Optional(
    Type.Array(GatewayResource, {
      description: "Resources that the gateway serves. Omitted if another record embeds the gateway.",
    }),
  ),
});
export type Gateway = Static<typeof Gateway>;

export const gatewayTestStatuses = ["ONLINE", "MAINTENANCE", "NOT_REACHABLE", "ERROR", "UNRECOGNIZED"] as const;

export const GatewayTest = component("GatewayTest", "The result of checking a gateway's state.", {
  status: oneOf(gatewayTestStatuses),
  details: Type.Optional(Type.String({ description: "The observation that determined the status." })),
  error: Type.Optional(Type.String({ description: "The failure that the gateway reported." })),
});
export type GatewayTest = Static<typeof GatewayTest>;
