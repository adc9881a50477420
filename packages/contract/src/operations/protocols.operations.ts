import Type from "typebox";
import { operation } from "../operation.ts";
import { Protocol, RequestedNetworkProtocol } from "../records/protocol.ts";
import { closedObject, Name } from "../schema.ts";

const tag = "Protocols";

export const createProtocol = operation({
  id: "createProtocol",
  method: "POST",
  path: "/tenants/protocols",
  tag,
  summary: "Create a protocol",
  description: 'Without a name, Gatehouse derives one from the content, such as "TCP/8443".',
  access: "protocols:write",
  body: closedObject({
    name: Type.Optional(Name),
    networkProtocols: Type.Array(RequestedNetworkProtocol, { minItems: 1, maxItems: 100 }),
  }),
  success: { status: 201, kind: "record", body: Protocol },
  errors: ["name_taken", "invalid_combination"],
});

export const listProtocols = operation({
  id: "listProtocols",
  method: "GET",
  path: "/tenants/protocols",
  tag,
  summary: "List protocols",
  access: "protocols:read",
  success: { status: 200, kind: "array", item: Protocol },
});

export const readProtocol = operation({
  id: "readProtocol",
  method: "GET",
  path: "/tenants/protocols/{id}",
  tag,
  summary: "Read a protocol",
  access: "protocols:read",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: Protocol },
});

export const deleteProtocol = operation({
  id: "deleteProtocol",
  method: "DELETE",
  path: "/tenants/protocols/{id}",
  tag,
  summary: "Delete a protocol",
  access: "protocols:write",
  parameters: { id: "uuid" },
  success: { status: 204, kind: "empty" },
  errors: ["protocol_in_use", "predefined_record"],
});
