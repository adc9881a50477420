import Type from "typebox";
import { operation } from "../operation.ts";
import { ConfigurationSigningKey } from "../records/configuration-signing-key.ts";
import { Endpoint, Gateway, GatewayTest } from "../records/gateway.ts";
import { GatewaySettings, NewGatewaySettings, portPattern } from "../records/gateway-settings.ts";
import { GatewaySync } from "../records/gateway-sync.ts";
import { closedObject, Description, GraceSeconds, Name, shortText } from "../schema.ts";

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
  dangerous: "the gateway's token outlives the session",
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
  description: 'Omitted fields stay unchanged; `""` clears an optional field.',
  access: "gateways:write",
  harmless: "devices recognize a gateway by its key, at any endpoint",
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
  dangerous: "it can cut off resources, and the token of the gateway cannot be restored",
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
  summary: "Read a gateway's settings: resolvers, networks and relay port",
  description: "The ETag is the gateway's.",
  access: "gateways:read",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: GatewaySettings },
});

export const replaceGatewaySettings = operation({
  id: "replaceGatewaySettings",
  method: "PUT",
  path: "/tenants/gateways/{id}/settings",
  tag,
  summary: "Update a gateway's settings: resolvers, networks and relay port",
  description:
    "Omitted fields stay unchanged; lists are replaced as a whole. The `networks` of two gateways cannot overlap. A `relayPort` belongs to one gateway of the tenant, and no other gateway can listen on it. `If-Match` takes the gateway's ETag.",
  access: "gateways:write",
  dangerous: "these settings decide which addresses the names of private resources open",
  dangerousWith: ["resolvers", "domains", "networks"],
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
  summary: "Enable relaying on a gateway",
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
  summary: "Disable relaying on a gateway",
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
  summary: "Put a gateway into maintenance",
  description:
    "The gateway's status is MAINTENANCE until it leaves maintenance, and no traffic is sent through it. Idempotent.",
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
  summary: "Take a gateway out of maintenance",
  description: "The gateway's status then follows its heartbeat. Idempotent.",
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
  summary: "Rotate a gateway's token",
  description:
    "The previous tokens stay valid for `graceSeconds`, but not longer than they would have otherwise; 0 revokes them immediately. Use 0 if others may know the token. During its grace period, a previous token can replace the WireGuard key only with a proof of the known key, and not while a reset is pending. API keys with the permission `gateways:token` can read the new token now and later.",
  access: "gateways:write",
  dangerous: "the token outlives the session",
  changesAccess: true,
  parameters: { id: "uuid" },
  bodyOptional: true,
  body: closedObject({ graceSeconds: Type.Optional(GraceSeconds) }),
  success: { status: 200, kind: "record", body: Gateway },
  errors: ["too_many_tokens"],
});

export const resetGatewayKey = operation({
  id: "resetGatewayKey",
  method: "POST",
  path: "/tenants/gateways/{id}/reset-key",
  tag,
  summary: "Reset a gateway's WireGuard key",
  description:
    "Allows the gateway's agent to report another WireGuard key within 24 hours. The agent need not prove the current key. Use it after a machine was set up again. The current key stays in use until then. While the reset is pending, a token in its grace period does not allow another key. If others may know the token, rotate it first with `graceSeconds` 0.",
  access: "gateways:write",
  dangerous: "the gateway can then report another key without a proof",
  changesAccess: true,
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: Gateway },
});

export const rotateSigningKey = operation({
  id: "rotateSigningKey",
  method: "POST",
  path: "/tenants/signing-key/rotate",
  tag,
  summary: "Rotate the key that signs configurations",
  description:
    "Generates a new key, which the current key signs. Connected gateways and devices reconnect and follow by themselves; others follow when they connect again. Configurations that are in use stay valid until they expire. Agents from before version 0.2 do not follow.",
  access: "gateways:write",
  dangerous: "all agents then trust another key",
  refusedInSets: "it replaces the key of all agents at once",
  bodyOptional: true,
  body: closedObject({
    reason: Type.Optional(shortText(500, "Why the key is rotated; the audit entry contains it.")),
  }),
  success: { status: 200, kind: "record", body: ConfigurationSigningKey },
});

export const readGatewaySync = operation({
  id: "readGatewaySync",
  method: "GET",
  path: "/tenants/gateways/{id}/sync",
  tag,
  summary: "Read whether a gateway has applied its configuration",
  description:
    "The tenant's generations that the gateway should enforce, that were sent to it, and that it reported as applied. A generation that does not change the gateway's configuration is not sent to it.",
  access: "gateways:read",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "report", body: GatewaySync },
});

export const testGatewayConfiguration = operation({
  id: "testGatewayConfiguration",
  method: "POST",
  path: "/tenants/gateways/{id}/test-configuration",
  tag,
  summary: "Check a gateway's state",
  description:
    "Evaluates the gateway's last heartbeat and reports; changes nothing. UNRECOGNIZED means that no agent has applied a configuration of this gateway yet.",
  access: "gateways:write",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "report", body: GatewayTest },
});
