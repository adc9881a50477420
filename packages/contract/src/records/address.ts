import Type, { type Static } from "typebox";
import { component, oneOf, Uuid } from "../schema.ts";
import { Protocol } from "./protocol.ts";

export const resourceTypes = ["PRIVATE", "SAAS", "INTERNET"] as const;
export type ResourceType = (typeof resourceTypes)[number];

/** The text of an address in a request. The rules of each address family check its format. */
export const AddressText = Type.String({
  "x-trim": true,
  minLength: 1,
  maxLength: 253,
  description: "An IPv4 or IPv6 address, a CIDR, a host name, a domain, or `*.domain`.",
});

export const Address = component("Address", "An address of a resource with the protocols that it accepts.", {
  id: Uuid,
  address: Type.String({ description: "An IP address, a CIDR, a host name, a domain, or `*.domain`." }),
  isIp: Type.Boolean({ description: "Whether the address is an IP address or a CIDR." }),
  type: oneOf(resourceTypes),
  protocols: Type.Array(Protocol),
});
export type Address = Static<typeof Address>;
