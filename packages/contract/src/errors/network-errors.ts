import type { ErrorDefinition } from "./definition.ts";

/** Errors of gateways, resources, addresses and protocols. */
export const networkErrors = {
  gateway_in_use: {
    status: 409,
    title: "A policy refers to the gateway",
    explanation:
      "A policy lists the gateway in `gateways`. Removing the last gateway from that list would widen what the policy allows.",
    remedy: "Remove the gateway from the policies that `errors` lists, or delete those policies.",
  },
  network_taken: {
    status: 409,
    title: "The network overlaps another gateway's networks",
    explanation:
      "Traffic between sites needs one route to each address, so the `networks` of two gateways cannot overlap. `errors` names the other gateways.",
    remedy: "Remove the network from the other gateway's settings first, or use smaller blocks.",
  },
  relay_port_taken: {
    status: 409,
    title: "Another gateway uses the relay port",
    explanation:
      "A relay identifies the gateway that a packet is for by its port. A `relayPort` therefore belongs to one gateway of the tenant, and no other gateway can use it as its WireGuard port.",
    remedy: "Choose another port.",
  },
  too_many_tokens: {
    status: 409,
    title: "The gateway has too many valid tokens",
    explanation:
      "At most ten previous tokens of a gateway can be in their grace period. Another rotation would exceed that.",
    remedy:
      "Rotate with `graceSeconds` 0, which revokes all previous tokens immediately, or wait until one of them expires.",
  },
  resource_full: {
    status: 409,
    title: "The resource has reached its limit",
    explanation: "A resource can have at most 500 addresses and 500 gateways.",
    remedy: "Split the resource, replace several addresses with a CIDR or a `*.domain`, or disconnect gateways.",
  },
  resource_in_use: {
    status: 409,
    title: "An active policy refers to the resource",
    explanation: "A resource cannot be deleted while an active policy lists it in `resources`.",
    remedy: "Remove the resource from the policies that `errors` lists, or deactivate those policies.",
  },
  protocol_in_use: {
    status: 409,
    title: "An address uses the protocol",
    explanation: "A protocol cannot be deleted while addresses use it.",
    remedy: "Remove the protocol from the addresses that `errors` lists.",
  },
  predefined_record: {
    status: 409,
    title: "The record is built in",
    explanation:
      "Predefined protocols, built-in admission rules and system roles are the same in every tenant and cannot be changed.",
    remedy: "Create your own record instead.",
  },
  invalid_address: {
    status: 422,
    title: "The address is not allowed",
    explanation:
      "An address is not an IP address, CIDR, host name or `*.domain`, or an entry of `sourceIps` is not an IP address or CIDR. A private resource also cannot contain globally reachable addresses, or addresses of the device pool 100.64.0.0/10. A new address of a private resource also cannot be loopback, link-local or reserved, belong to a metadata service, or embed such an address. Stored addresses stay valid. `answersWithin` applies to names of private resources only, and its entries are IP addresses or CIDRs.",
    remedy: "Correct the addresses that `errors` lists.",
  },
  duplicate_address: {
    status: 422,
    title: "The resource contains an address twice",
    explanation: "Several resources can have the same address, but each resource can have it only once.",
    remedy: "Merge the two entries into one with all their protocols.",
  },
  too_many_ports: {
    status: 422,
    title: "The resource has too many ports",
    explanation:
      "The protocols of all addresses of a resource together can list at most 10,000 ports and ranges: the entries of their `networkProtocols`. A protocol that several addresses use counts for each of them.",
    remedy:
      "Replace ports that follow each other with a range, replace several addresses with a CIDR or a `*.domain`, or split the resource.",
  },
} as const satisfies Record<string, ErrorDefinition>;
