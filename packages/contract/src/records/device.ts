import Type, { type Static } from "typebox";
import { component, flatFacts, identity, Name, nullable, oneOf, Timestamp, Uuid } from "../schema.ts";

export const deviceStatuses = ["Online", "Offline", "Deactivated"] as const;
export type DeviceStatus = (typeof deviceStatuses)[number];

/** At most 64 facts about a device's security state, reported by its agent. */
export const Posture = flatFacts("What the device reports about its own security.");

const deviceFields = {
  ...identity,
  name: Name,
  active: Type.Boolean({ description: "False once an administrator deactivated the device." }),
  lastConnection: Type.Optional(Timestamp),
  status: oneOf(deviceStatuses),
  hardwareId: Type.String(),
  posture: Type.Optional(Posture),
  appVersion: Type.Optional(Type.String()),
};

export const PolicyDevice = component("PolicyDevice", "A device as a policy shows it.", deviceFields);
export type PolicyDevice = Static<typeof PolicyDevice>;

const DeviceUser = component("DeviceUser", "The user whom a device belongs to.", {
  id: Uuid,
  lastConnection: nullable(Timestamp),
  email: Type.Optional(Type.String()),
  firstName: Type.Optional(Type.String()),
  lastName: Type.Optional(Type.String()),
});

export const Device = component("Device", "A machine that a user reaches the network with.", {
  ...deviceFields,
  os: Type.Optional(Type.String()),
  osVersion: Type.Optional(Type.String()),
  publicKey: Type.String({ description: "The device's WireGuard public key, 32 bytes in base64." }),
  user: Type.Optional(DeviceUser),
});
export type Device = Static<typeof Device>;

export const DeviceToken = component("DeviceToken", "What a device's agent opens its link with.", {
  token: Type.String({ description: "Shown this once; only its hash is kept." }),
});
