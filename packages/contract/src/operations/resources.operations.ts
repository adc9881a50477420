import Type from "typebox";
import { list } from "../list.ts";
import { operation } from "../operation.ts";
import { Address, AddressText, AnswersWithin, resourceTypes } from "../records/address.ts";
import { loadBalancingModes, Resource } from "../records/resource.ts";
import { closedObject, component, Description, idList, Name, oneOf, referenceKeyword } from "../schema.ts";

const tag = "Resources";

export const listResources = operation({
  id: "listResources",
  method: "GET",
  path: "/tenants/resources",
  tag,
  summary: "List resources",
  description:
    "`filter[isNamedByPolicy]` is true for resources that a policy other than the default policy names: by themselves, or as all resources.",
  access: "resources:read",
  success: {
    status: 200,
    kind: "page",
    item: Resource,
    list: list({
      sort: ["id", "name"],
      filter: {
        "policies.id": { kind: "uuid" },
        "gateways.id": { kind: "uuid" },
        "addresses.id": { kind: "uuid" },
        "addresses.protocols.id": { kind: "uuid" },
        isNamedByPolicy: { kind: "boolean" },
        type: { kind: "enum", values: resourceTypes },
        name: { kind: "text" },
        id: { kind: "uuid" },
      },
    }),
  },
});

/**
 * The most addresses and gateways that a resource can have, and the most ports and ranges in all protocols of all its
 * addresses. One address can have 100 protocols with 100 ports and ranges each.
 */
export const resourceLimits = { addresses: 500, gateways: 500, ports: 10_000 } as const;

const portLimit =
  "The protocols of all addresses together can list at most 10,000 `networkProtocols`. A protocol that several addresses use counts for each of them.";

export const CreateAddress = component("CreateAddress", "An address of a resource.", {
  address: AddressText,
  protocols: idList("Protocols that the address accepts.", 100),
  answersWithin: Type.Optional(AnswersWithin),
});

export const createResource = operation({
  id: "createResource",
  method: "POST",
  path: "/tenants/resources",
  tag,
  summary: "Create a resource",
  description: portLimit,
  access: "resources:write",
  changesAccess: true,
  body: closedObject({
    name: Name,
    type: oneOf(resourceTypes),
    addresses: Type.Array(CreateAddress, { maxItems: resourceLimits.addresses }),
    description: Type.Optional(Description),
  }),
  success: { status: 201, kind: "record", body: Resource },
  errors: ["name_taken", "unknown_reference", "invalid_address", "duplicate_address", "too_many_ports"],
});

export const readResource = operation({
  id: "readResource",
  method: "GET",
  path: "/tenants/resources/{id}",
  tag,
  summary: "Read a resource",
  access: "resources:read",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: Resource },
});

export const updateResource = operation({
  id: "updateResource",
  method: "PATCH",
  path: "/tenants/resources/{id}",
  tag,
  summary: "Update a resource's name and description",
  access: "resources:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  body: closedObject({ name: Name, description: Type.Optional(Description) }),
  success: { status: 204, kind: "empty" },
  errors: ["name_taken"],
});

export const deleteResource = operation({
  id: "deleteResource",
  method: "DELETE",
  path: "/tenants/resources/{id}",
  tag,
  summary: "Delete a resource",
  description: "Fails while an active policy refers to the resource. Gateways are disconnected from the resource.",
  access: "resources:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  success: { status: 204, kind: "empty" },
  errors: ["resource_in_use"],
});

export const configureLoadBalancing = operation({
  id: "configureLoadBalancing",
  method: "POST",
  path: "/tenants/resources/{id}/loadBalancing",
  tag,
  summary: "Configure a resource's load balancing",
  description: "Replaces the ordered list of gateways. For MANUAL, the order is the priority.",
  access: "resources:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  body: closedObject({
    loadBalancingMode: oneOf(loadBalancingModes, { default: "MANUAL" }),
    gateways: Type.Array(Type.String({ maxLength: 64, [referenceKeyword]: true }), {
      maxItems: resourceLimits.gateways,
      uniqueItems: true,
      description: "Ids of gateways, in order of priority.",
    }),
  }),
  success: { status: 204, kind: "empty" },
  errors: ["unknown_reference"],
});

export const addResourceAddress = operation({
  id: "addResourceAddress",
  method: "POST",
  path: "/tenants/resources/{id}/addresses",
  tag,
  summary: "Add an address to a resource",
  description:
    "Increments the resource's version. `ETag` and `Location` are the new address's; `If-Match` takes the resource's ETag. The limits of creating a resource apply.",
  access: "resources:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  body: CreateAddress,
  success: { status: 201, kind: "record", body: Address, located: true },
  errors: ["unknown_reference", "invalid_address", "duplicate_address", "resource_full", "too_many_ports"],
});

export const removeResourceAddress = operation({
  id: "removeResourceAddress",
  method: "DELETE",
  path: "/tenants/resources/{id}/addresses/{addressId}",
  tag,
  summary: "Remove an address from a resource",
  description: "Deletes the address. `If-Match` takes the resource's ETag.",
  access: "resources:write",
  changesAccess: true,
  parameters: { id: "uuid", addressId: "uuid" },
  success: { status: 204, kind: "empty" },
});

export const connectGateway = operation({
  id: "connectGateway",
  method: "PUT",
  path: "/tenants/resources/{id}/gateways/{gatewayId}",
  tag,
  summary: "Connect a gateway to a resource",
  description: "A newly connected gateway gets the lowest priority. Idempotent.",
  access: "resources:write",
  changesAccess: true,
  parameters: { id: "uuid", gatewayId: "uuid" },
  success: { status: 204, kind: "empty" },
  errors: ["resource_full"],
});

export const disconnectGateway = operation({
  id: "disconnectGateway",
  method: "DELETE",
  path: "/tenants/resources/{id}/gateways/{gatewayId}",
  tag,
  summary: "Disconnect a gateway from a resource",
  description: "The remaining gateways keep their order. Returns 404 if the gateway is not connected.",
  access: "resources:write",
  changesAccess: true,
  parameters: { id: "uuid", gatewayId: "uuid" },
  success: { status: 204, kind: "empty" },
});
