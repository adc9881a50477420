import Type, { type Static } from "typebox";
import { component, Name, oneOf, Timestamp, Uuid } from "../schema.ts";
import { deviceSessionEndReasons } from "./device.ts";
import { actorTypes } from "./event.ts";

/** A device of a person is trusted while its session is active, or until its first sign-in is due. */
export const deviceSessionStates = ["active", "not-signed-in", "pending", "expired", "ended"] as const;
export type DeviceSessionState = (typeof deviceSessionStates)[number];

/** The most devices on which one request requires a new sign-in. */
export const maxEndedSessions = 5_000;

const at = (description: string) => Type.Optional(Type.Unsafe<string>({ ...Timestamp, description }));

export const ListedDeviceSession = component(
  "ListedDeviceSession",
  "The latest session of a device. Devices that were enrolled with an enrolment key have no sessions, because nobody signs in on them.",
  {
    id: Type.Unsafe<string>({ ...Uuid, description: "The id of the device." }),
    device: component("SessionDevice", "The device.", { id: Uuid, name: Name, active: Type.Boolean() }),
    user: component("DeviceSessionUser", "The user of the device.", { id: Uuid, email: Type.String() }),
    state: oneOf(deviceSessionStates, {
      description:
        "`active`: the user has signed in, and the device is trusted. `not-signed-in`: nobody has signed in on the device, and it is trusted until `endsAt`, if there is an end. `pending`: the device awaits approval by an administrator, and is not trusted. `expired`: the lifetime is over. `ended`: the session was ended before its time, and the device is not trusted until a new sign-in. If no lifetime is set, deactivating the device or its user ends the session until both are active again.",
    }),
    signedInAt: at("When the user signed in on the device; omitted if nobody has."),
    authenticatedAt: at("When the user authenticated, which can be before the sign-in on the device."),
    methods: Type.Array(Type.String(), { description: "The methods of that authentication (RFC 8176)." }),
    provider: Type.Optional(
      component("DeviceSessionProvider", "The identity provider; omitted if the user authenticated without one.", {
        id: Uuid,
        name: Type.String(),
      }),
    ),
    endsAt: at("The end of the session, which can be in the past; omitted if the session does not end by itself."),
    endReason: Type.Optional(
      oneOf(deviceSessionEndReasons, {
        description:
          "Why the session was ended; omitted unless it was. If no lifetime is set, only `sign-in-required` and deactivations end the trust in the device.",
      }),
    ),
    endedBy: Type.Optional(
      component("DeviceSessionEnder", "The actor that ended the session; omitted unless it was ended.", {
        type: oneOf(actorTypes),
        id: Type.Optional(Uuid),
        name: Type.String(),
      }),
    ),
  },
);
export type ListedDeviceSession = Static<typeof ListedDeviceSession>;
