import Type from "typebox";
import { operation } from "../operation.ts";
import { Endpoint, Gateway, GatewayTest } from "../records/gateway.ts";
import { GatewaySettings, NewGatewaySettings, portPattern } from "../records/gateway-settings.ts";
import { GatewaySync } from "../records/gateway-sync.ts";
import { closedObject, Description, GraceSeconds, Name } from "../schema.ts";

const tag = "Gateways";

const WireguardPort = Type.String({ pattern: portPattern, description: 'A UDP port, "1" to "65535".' });

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
  changesAccess: true,
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
  changesAccess: true,
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
  changesAccess: true,
  parameters: { id: "uuid" },
  success: { status: 204, kind: "empty" },
  errors: ["gateway_in_use"],
});

export const readGatewaySettings = operation({
  id: "readGatewaySettings",
  method: "GET",
  path: "/tenants/gateways/{id}/settings",
  tag,
  summary: "Read what a gateway's site needs: resolvers, networks, the port at relays",
  description: "The ETag is that of the gateway.",
  access: "gateways:read",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: GatewaySettings },
});

export const replaceGatewaySettings = operation({
  id: "replaceGatewaySettings",
  method: "PUT",
  path: "/tenants/gateways/{id}/settings",
  tag,
  summary: "Set what a gateway's site needs: resolvers, networks, the port at relays",
  description:
    "Absent fields stay as they are; lists are replaced as a whole. No address may be in `networks` of two gateways. A `relayPort` belongs to one gateway of the tenant, and no other gateway may listen on it. `If-Match` takes the ETag of the gateway.",
  access: "gateways:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  body: NewGatewaySettings,
  success: { status: 200, kind: "record", body: GatewaySettings },
  errors: ["invalid_address", "network_taken", "relay_port_taken"],
});

export const enableGatewayRelay = operation({
  id: "enableGatewayRelay",
  method: "POST",
  path: "/tenants/gateways/{id}/enable-relay",
  tag,
  summary: "Let a gateway relay traffic between devices and other gateways",
  description: "Idempotent.",
  access: "gateways:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: Gateway },
});

export const disableGatewayRelay = operation({
  id: "disableGatewayRelay",
  method: "POST",
  path: "/tenants/gateways/{id}/disable-relay",
  tag,
  summary: "Stop a gateway from relaying traffic",
  description: "Idempotent.",
  access: "gateways:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: Gateway },
});

export const enterGatewayMaintenance = operation({
  id: "enterGatewayMaintenance",
  method: "POST",
  path: "/tenants/gateways/{id}/enter-maintenance",
  tag,
  summary: "Take a gateway out of service",
  description:
    "Idempotent. Its status is MAINTENANCE, whatever it was, until it leaves maintenance; no traffic is sent through it.",
  access: "gateways:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: Gateway },
});

export const exitGatewayMaintenance = operation({
  id: "exitGatewayMaintenance",
  method: "POST",
  path: "/tenants/gateways/{id}/exit-maintenance",
  tag,
  summary: "Put a gateway back into service",
  description: "Idempotent. Its status is then what its heartbeat says.",
  access: "gateways:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: Gateway },
});

export const rotateGatewayToken = operation({
  id: "rotateGatewayToken",
  method: "POST",
  path: "/tenants/gateways/{id}/rotate-token",
  tag,
  summary: "Give a gateway a new token",
  description:
    "The gateway's earlier tokens go on working for `graceSeconds`, and none of them longer than it would have anyway; 0 ends them at once. The new token is shown to keys that hold `gateways:token`, now and later.",
  access: "gateways:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  bodyOptional: true,
  body: closedObject({ graceSeconds: Type.Optional(GraceSeconds) }),
  success: { status: 200, kind: "record", body: Gateway },
  errors: ["too_many_tokens"],
});

export const readGatewaySync = operation({
  id: "readGatewaySync",
  method: "GET",
  path: "/tenants/gateways/{id}/sync",
  tag,
  summary: "Tell whether a gateway enforces what it should",
  description:
    "What is wanted of the gateway, what was sent to it, and what it said it enforces, as generations of the tenant. A generation that changes nothing for a gateway is not sent to it.",
  access: "gateways:read",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "report", body: GatewaySync },
});

export const testGatewayConfiguration = operation({
  id: "testGatewayConfiguration",
  method: "POST",
  path: "/tenants/gateways/{id}/test-configuration",
  tag,
  summary: "Tell what is known of a gateway's state",
  description:
    "Answered from the gateway's last heartbeat and reports; changes nothing. UNRECOGNIZED: no agent has applied a configuration of this gateway yet.",
  access: "gateways:write",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "report", body: GatewayTest },
});
