import Type, { type Static } from "typebox";
import { component, Name, oneOf, Uuid } from "../schema.ts";

export const transportProtocols = ["TCP", "UDP", "ICMP"] as const;

/** A port in decimal, 1 to 65535. */
const port = "([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])";

export const RequestedNetworkProtocol = component("RequestedNetworkProtocol", "A transport protocol and its ports.", {
  protocol: oneOf(transportProtocols, { description: "The transport protocol." }),
  port: Type.Optional(
    Type.Unsafe<string | number>({
      anyOf: [
        { type: "string", minLength: 1, maxLength: 11, pattern: `^${port}(-${port})?$` },
        { type: "integer", minimum: 1, maximum: 65535 },
      ],
      description:
        'A port from 1 to 65535 ("443" or 443) or a range ("5000-5100"); all ports if omitted. ICMP has no ports.',
    }),
  ),
});

export const NetworkProtocol = component("NetworkProtocol", "A transport protocol and, for TCP and UDP, its ports.", {
  protocol: oneOf(transportProtocols),
  port: Type.Optional(Type.String({ description: 'A port ("443") or a range ("5000-5100"); all ports if omitted.' })),
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
