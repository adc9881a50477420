import Type from "typebox";
import { operation } from "../operation.ts";
import { Gateway } from "../records/gateway.ts";
import { closedObject, Description, Name, shortText } from "../schema.ts";

const tag = "Gateways";

/** A port number in decimal, "1" to "65535". */
const WireguardPort = Type.String({
  pattern: "^([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$",
  description: 'A UDP port, "1" to "65535".',
});

export const Endpoint = shortText(
  255,
  'Host name or IP address that devices connect to; "" discovers it automatically.',
);

export const listGateways = operation({
  id: "listGateways",
  method: "GET",
  path: "/tenants/gateways",
  tag,
  summary: "List gateways",
  access: "gateways:read",
  success: { status: 200, kind: "array", item: Gateway },
});

export const createGateway = operation({
  id: "createGateway",
  method: "POST",
  path: "/tenants/gateways",
  tag,
  summary: "Create a gateway",
  access: "gateways:write",
  body: closedObject({
    name: Name,
    wireguardPort: WireguardPort,
    description: Type.Optional(Description),
    endpoint: Type.Optional(Endpoint),
  }),
  success: { status: 201, kind: "record", body: Gateway },
  errors: ["name_taken", "invalid_address"],
});

export const readGateway = operation({
  id: "readGateway",
  method: "GET",
  path: "/tenants/gateways/{id}",
  tag,
  summary: "Read a gateway",
  access: "gateways:read",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: Gateway },
});

export const updateGateway = operation({
  id: "updateGateway",
  method: "PUT",
  path: "/tenants/gateways/{id}",
  tag,
  summary: "Update a gateway",
  description: 'Absent fields stay as they are; `""` clears an optional one.',
  access: "gateways:write",
  parameters: { id: "uuid" },
  body: closedObject({
    name: Type.Optional(Name),
    wireguardPort: Type.Optional(WireguardPort),
    description: Type.Optional(Description),
    endpoint: Type.Optional(Endpoint),
  }),
  success: { status: 200, kind: "record", body: Gateway },
  errors: ["name_taken", "invalid_address"],
});

export const deleteGateway = operation({
  id: "deleteGateway",
  method: "DELETE",
  path: "/tenants/gateways/{id}",
  tag,
  summary: "Delete a gateway",
  access: "gateways:write",
  parameters: { id: "uuid" },
  success: { status: 204, kind: "empty" },
  errors: ["gateway_in_use"],
});
