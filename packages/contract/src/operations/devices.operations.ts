import Type from "typebox";
import { list } from "../list.ts";
import { canonicalKeyPattern } from "../network-values.ts";
import { operation } from "../operation.ts";
import { Device, DeviceTags, DeviceToken, deviceApprovals, Posture } from "../records/device.ts";
import { DeviceConfiguration } from "../records/device-configuration.ts";
import { closedObject, Name, shortText, Uuid } from "../schema.ts";

const tag = "Devices";

export const listDevices = operation({
  id: "listDevices",
  method: "GET",
  path: "/tenants/devices",
  tag,
  summary: "List devices",
  description:
    "`filter[inactiveSince]` compares the time of the last connection, or of the enrolment for a device that never connected. `filter[hasConnected]` is false for devices that never connected.",
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
        inactiveSince: { kind: "timestamp" },
        hasConnected: { kind: "boolean" },
        approval: { kind: "enum", values: deviceApprovals },
        enrolmentKey: { kind: "uuid" },
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
  description: "A pending user becomes active when the first device is enrolled.",
  access: "devices:write",
  dangerous: "the device outlives the session",
  changesAccess: true,
  body: closedObject({
    name: Name,
    userId: Uuid,
    hardwareId: Type.Unsafe<string>({
      ...shortText(200, "Identifier assigned by the device's manufacturer or operating system."),
      minLength: 1,
    }),
    publicKey: Type.String({
      pattern: canonicalKeyPattern,
      description:
        "The device's WireGuard public key: 32 bytes in base64, as `wg pubkey` prints them. A key of small order or in another encoding than the canonical one is refused.",
    }),
    appVersion: Type.Optional(shortText(120)),
    os: Type.Optional(shortText(120)),
    osVersion: Type.Optional(shortText(120)),
    posture: Type.Optional(Posture),
    agent: Type.Optional(
      Type.Boolean({ description: "False for a device with another WireGuard app. True by default." }),
    ),
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
  description:
    "Removes the device from every policy that refers to it, including policies that deny it. The user can then enrol another device. If the same machine is enrolled again, these policies do not apply to it. To keep a machine out, deactivate the device.",
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
  summary: "Deactivate a device",
  description:
    "Cuts the device off. The record and the policies that refer to it remain, and the device still counts against the user's device limit. Idempotent.",
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
  summary: "Reactivate a device",
  description:
    "The device stays cut off while its user is deactivated. Reactivating a device that waits for approval approves it.",
  access: "devices:write",
  dangerous: "the device's key opens the tunnel again",
  dangerousIf: "the device does not wait for approval",
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
  summary: "Replace a device's posture",
  description: "The body is the complete posture. Entries that the body does not contain are removed.",
  access: "devices:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  body: Posture,
  success: { status: 200, kind: "record", body: Device },
});

export const replaceDeviceTags = operation({
  id: "replaceDeviceTags",
  method: "PUT",
  path: "/tenants/devices/{id}/tags",
  tag,
  summary: "Replace a device's tags",
  description: "Admission rules read the tags as `device.tags`, in the order of the body.",
  access: "devices:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  body: closedObject({ tags: DeviceTags }),
  success: { status: 200, kind: "record", body: Device },
});

export const rotateDeviceToken = operation({
  id: "rotateDeviceToken",
  method: "POST",
  path: "/tenants/devices/{id}/rotate-token",
  tag,
  summary: "Rotate a device's token",
  description:
    "The device's agent authenticates its link with the token, which is shown only once. The previous token is revoked immediately, and the link that was opened with it is closed.",
  access: "devices:write",
  dangerous: "the token outlives the session",
  changesAccess: true,
  parameters: { id: "uuid" },
  refusedInSets: "its response shows a secret once",
  success: { status: 200, kind: "record", body: DeviceToken },
});

export const resetDeviceKey = operation({
  id: "resetDeviceKey",
  method: "POST",
  path: "/tenants/devices/{id}/reset-key",
  tag,
  summary: "Reset a device's WireGuard key",
  description:
    "Allows the device's agent to report another WireGuard key within 24 hours. The agent need not prove the current key. The current key stays in use until then. If others may know the token, rotate it first. Rotation revokes the previous token immediately.",
  access: "devices:write",
  dangerous: "the device can then report another key without a proof",
  changesAccess: true,
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: Device },
});

export const readDeviceConfiguration = operation({
  id: "readDeviceConfiguration",
  method: "GET",
  path: "/tenants/devices/{id}/configuration",
  tag,
  summary: "Read a device's routing configuration",
  description:
    "The configuration that the device's agent receives: gateways as WireGuard peers with the traffic routed through each, and the names that they resolve. A device without access has no gateways. The report has no version, because it follows each change. Until `validUntil` (milliseconds since 1970), it does not change through the passage of time alone.",
  access: "devices:read",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "report", body: DeviceConfiguration },
  errors: ["evaluation_too_expensive", "evaluation_rate_exceeded"],
});
