/** Sessions of devices, for administrators. */
import Type from "typebox";
import { list } from "../list.ts";
import { operation } from "../operation.ts";
import { deviceSessionStates, ListedDeviceSession, maxEndedSessions } from "../records/device-session.ts";
import { closedObject, Uuid } from "../schema.ts";

const tag = "Devices";

const ids = (description: string) => Type.Array(Uuid, { maxItems: 1_000, uniqueItems: true, description });

export const listDeviceSessions = operation({
  id: "listDeviceSessions",
  method: "GET",
  path: "/tenants/device-sessions",
  tag,
  summary: "List the sessions of devices",
  description:
    "One entry for each device of a person: its latest session. `filter[group.id]` selects the devices of the group's members.",
  access: "devices:read",
  success: {
    status: 200,
    kind: "page",
    item: ListedDeviceSession,
    list: list({
      sort: ["id", "device.name", "signedInAt", "endsAt"],
      filter: {
        id: { kind: "uuid" },
        "device.name": { kind: "text" },
        "device.active": { kind: "boolean" },
        "user.id": { kind: "uuid" },
        "user.email": { kind: "text" },
        "group.id": { kind: "uuid" },
        state: { kind: "enum", values: deviceSessionStates },
        signedInAt: { kind: "timestamp" },
        endsAt: { kind: "timestamp" },
      },
    }),
  },
});

export const endDeviceSession = operation({
  id: "endDeviceSession",
  method: "DELETE",
  path: "/tenants/device-sessions/{id}",
  tag,
  summary: "End the session of a device",
  description:
    "Does the same as `requireSignIn` for one device. `id` is the id of the device, and `If-Match` compares its version.",
  access: "devices:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  success: { status: 204, kind: "empty" },
  errors: ["device_without_sessions"],
});

export const requireSignIn = operation({
  id: "requireSignIn",
  method: "POST",
  path: "/tenants/device-sessions/require-sign-in",
  tag,
  summary: "Require users to sign in again on their devices",
  description: `Ends the sessions of the named devices, of the users' devices, and of the devices of the groups' members, all together or not at all. Until their users sign in again, the devices reach only the control plane. This also applies if no lifetime of device sessions is set. Devices that were enrolled with an enrolment key are left out. At most ${maxEndedSessions} devices in one request.`,
  access: "devices:write",
  changesAccess: true,
  body: closedObject({
    devices: Type.Optional(ids("Devices.")),
    users: Type.Optional(ids("Users, with all their devices.")),
    groups: Type.Optional(ids("Groups, with all devices of their members.")),
  }),
  success: { status: 200, kind: "empty" },
  errors: ["unknown_reference", "device_without_sessions", "too_many_devices"],
});
