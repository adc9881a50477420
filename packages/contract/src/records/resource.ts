import Type, { type Static } from "typebox";
import { component, Description, identity, Name, oneOf } from "../schema.ts";
import { Address, resourceTypes } from "./address.ts";
import { Gateway } from "./gateway.ts";

export const loadBalancingModes = ["MANUAL", "AUTOMATIC"] as const;
export type LoadBalancingMode = (typeof loadBalancingModes)[number];

const resourceFields = {
  ...identity,
  name: Name,
  type: oneOf(resourceTypes),
  loadBalancingMode: oneOf(loadBalancingModes, { default: "MANUAL" }),
  description: Type.Optional(Description),
};

export const PolicyResource = component("PolicyResource", "A resource, as embedded in a policy.", resourceFields);
export type PolicyResource = Static<typeof PolicyResource>;

export const Resource = component("Resource", "A destination on the network that policies grant access to.", {
  ...resourceFields,
  status: Type.Optional(oneOf(["ONLINE", "OFFLINE"])),
  addresses: Type.Array(Address),
  gateways: Type.Array(Gateway, { description: "Gateways in order of priority for MANUAL load balancing." }),
});
export type Resource = Static<typeof Resource>;
