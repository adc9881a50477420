import Type from "typebox";
import { list } from "../list.ts";
import { operation } from "../operation.ts";
import { Device, DeviceToken, Posture } from "../records/device.ts";
import { DeviceConfiguration } from "../records/device-configuration.ts";
import { closedObject, Name, shortText, Uuid } from "../schema.ts";

const tag = "Devices";

export const listDevices = operation({
  id: "listDevices",
  method: "GET",
  path: "/tenants/devices",
  tag,
  summary: "List devices",
  access: "devices:read",
  success: {
    status: 200,
    kind: "page",
    item: Device,
    list: list({
      sort: ["id", "name", "createdAt", "lastConnection"],
      filter: {
        id: { kind: "uuid" },
        name: { kind: "text" },
        hardwareId: { kind: "text" },
        active: { kind: "boolean" },
        "user.id": { kind: "uuid" },
      },
    }),
  },
});

export const enrolDevice = operation({
  id: "enrolDevice",
  method: "POST",
  path: "/tenants/devices",
  tag,
  summary: "Enrol a device of a user",
  description: "A pending user becomes active with the first device.",
  access: "devices:write",
  changesAccess: true,
  body: closedObject({
    name: Name,
    userId: Uuid,
    hardwareId: Type.Unsafe<string>({
      ...shortText(200, "What the device's maker or system identifies it by."),
      minLength: 1,
    }),
    publicKey: Type.String({
      pattern: "^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$",
      description: "The device's WireGuard public key: 32 bytes in base64.",
    }),
    appVersion: Type.Optional(shortText(120)),
    os: Type.Optional(shortText(120)),
    osVersion: Type.Optional(shortText(120)),
    posture: Type.Optional(Posture),
  }),
  success: { status: 201, kind: "record", body: Device },
  errors: ["unknown_reference", "device_limit_reached", "device_key_taken", "user_deactivated", "invitation_expired"],
});

export const readDevice = operation({
  id: "readDevice",
  method: "GET",
  path: "/tenants/devices/{id}",
  tag,
  summary: "Read a device",
  access: "devices:read",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: Device },
});

export const deleteDevice = operation({
  id: "deleteDevice",
  method: "DELETE",
  path: "/tenants/devices/{id}",
  tag,
  summary: "Delete a device",
  description: "It is taken out of every policy that names it. The user may then enrol another in its place.",
  access: "devices:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  success: { status: 204, kind: "empty" },
});

export const deactivateDevice = operation({
  id: "deactivateDevice",
  method: "PATCH",
  path: "/tenants/devices/{id}/deactivate",
  tag,
  summary: "Cut a device off",
  description: "Idempotent. The record stays, in policies too, and counts against the user's device limit.",
  access: "devices:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: Device },
});

export const reactivateDevice = operation({
  id: "reactivateDevice",
  method: "POST",
  path: "/tenants/devices/{id}/reactivate",
  tag,
  summary: "Restore a deactivated device",
  description: "While its user is deactivated, the device stays cut off all the same.",
  access: "devices:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  success: { status: 201, kind: "record", body: Device },
  errors: ["device_not_deactivated", "device_without_user"],
});

export const replaceDevicePosture = operation({
  id: "replaceDevicePosture",
  method: "PUT",
  path: "/tenants/devices/{id}/posture",
  tag,
  summary: "Replace what a device reports about its own security",
  description: "The body is the posture itself: entries that it does not have are gone afterwards.",
  access: "devices:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  body: Posture,
  success: { status: 200, kind: "record", body: Device },
});

export const rotateDeviceToken = operation({
  id: "rotateDeviceToken",
  method: "POST",
  path: "/tenants/devices/{id}/rotate-token",
  tag,
  summary: "Give a device a new token",
  description:
    "With it the device's agent opens its link. It is shown this once. An earlier token ends at once, and so does the link that was opened with it.",
  access: "devices:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: DeviceToken },
});

export const readDeviceConfiguration = operation({
  id: "readDeviceConfiguration",
  method: "GET",
  path: "/tenants/devices/{id}/configuration",
  tag,
  summary: "Tell which way a device sends its packets",
  description:
    "What the device's agent is told now: gateways as WireGuard peers with what goes through each, and names to ask them for. A device that may reach nothing has no gateways. Follows each change, so it has no version; before `validUntil` (milliseconds since 1970) time alone changes nothing.",
  access: "devices:read",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "report", body: DeviceConfiguration },
});
