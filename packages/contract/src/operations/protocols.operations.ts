import Type from "typebox";
import { operation } from "../operation.ts";
import { Protocol, transportProtocols } from "../records/protocol.ts";
import { closedObject, component, Name, oneOf } from "../schema.ts";

const tag = "Protocols";

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
        'A port from 1 to 65535 ("443" or 443), a range ("5000-5100"), or absent for every port and for ICMP.',
    }),
  ),
});

export const createProtocol = operation({
  id: "createProtocol",
  method: "POST",
  path: "/tenants/protocols",
  tag,
  summary: "Create a protocol",
  description: 'Without a name, one is made from the content, such as "TCP/8443".',
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
