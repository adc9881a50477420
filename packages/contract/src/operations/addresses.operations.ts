import Type from "typebox";
import { operation } from "../operation.ts";
import { Address, AddressText, AnswersWithin } from "../records/address.ts";
import { Gateway } from "../records/gateway.ts";
import { closedObject, idList } from "../schema.ts";

const tag = "Addresses";

export const listAddresses = operation({
  id: "listAddresses",
  method: "GET",
  path: "/tenants/addresses",
  tag,
  summary: "List the addresses of all resources",
  access: "addresses:read",
  success: { status: 200, kind: "array", item: Address },
});

export const readAddress = operation({
  id: "readAddress",
  method: "GET",
  path: "/tenants/addresses/{id}",
  tag,
  summary: "Read an address",
  access: "addresses:read",
  parameters: { id: "string" },
  success: { status: 200, kind: "record", body: Address },
});

export const updateAddress = operation({
  id: "updateAddress",
  method: "PUT",
  path: "/tenants/addresses/{id}",
  tag,
  summary: "Replace an address and its protocols",
  description:
    "If `answersWithin` is omitted, it stays unchanged. An address that becomes an IP address or a CIDR loses it. The protocols of all addresses of the resource together can list at most 10,000 `networkProtocols`.",
  access: "addresses:write",
  changesAccess: true,
  parameters: { id: "string" },
  body: closedObject({
    protocols: idList("Protocols that the address accepts.", 100),
    address: AddressText,
    answersWithin: Type.Optional(AnswersWithin),
  }),
  success: { status: 200, kind: "record", body: Address },
  errors: ["unknown_reference", "invalid_address", "duplicate_address", "too_many_ports"],
});

export const deleteAddress = operation({
  id: "deleteAddress",
  method: "DELETE",
  path: "/tenants/addresses/{id}",
  tag,
  summary: "Delete an address",
  description: "Removes the address from every resource that uses it.",
  access: "addresses:write",
  changesAccess: true,
  parameters: { id: "string" },
  success: { status: 204, kind: "empty" },
});

export const listAddressGateways = operation({
  id: "listAddressGateways",
  method: "GET",
  path: "/tenants/addresses/{id}/gateways",
  tag,
  summary: "List the gateways that serve an address",
  access: "addresses:read",
  parameters: { id: "string" },
  success: { status: 200, kind: "array", item: Gateway },
});
