import Type, { type Static } from "typebox";
import { component, Name, oneOf, Uuid } from "../schema.ts";

export const transportProtocols = ["TCP", "UDP", "ICMP"] as const;

export const NetworkProtocol = component("NetworkProtocol", "A transport protocol and, for TCP and UDP, its ports.", {
  protocol: oneOf(transportProtocols),
  port: Type.Optional(Type.String({ description: 'A port ("443"), a range ("5000-5100"), or absent for every port.' })),
});
export type NetworkProtocol = Static<typeof NetworkProtocol>;

export const protocolTypes = ["ALL", "PREDEFINED", "CUSTOM"] as const;

export const Protocol = component("Protocol", "A named set of transport protocols and ports.", {
  id: Uuid,
  name: Name,
  networkProtocols: Type.Array(NetworkProtocol),
  type: oneOf(protocolTypes),
});
export type Protocol = Static<typeof Protocol>;
