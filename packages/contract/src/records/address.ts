import Type, { type Static } from "typebox";
import { component, oneOf, Uuid } from "../schema.ts";
import { Protocol } from "./protocol.ts";

export const resourceTypes = ["PRIVATE", "SAAS", "INTERNET"] as const;
export type ResourceType = (typeof resourceTypes)[number];

export const Address = component("Address", "An address of a resource, with the protocols it is reached by.", {
  id: Uuid,
  address: Type.String({ description: "An IP address, a CIDR, a host name, a domain, or `*.domain`." }),
  isIp: Type.Boolean({ description: "True for IP addresses and CIDRs." }),
  type: oneOf(resourceTypes),
  protocols: Type.Array(Protocol),
});
export type Address = Static<typeof Address>;
