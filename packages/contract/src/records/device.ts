import Type, { type Static } from "typebox";
import { PublicKey } from "../network-values.ts";
import { component, flatFacts, identity, Name, nullable, oneOf, Timestamp, Uuid } from "../schema.ts";

export const deviceStatuses = ["Online", "Offline", "Deactivated"] as const;
export type DeviceStatus = (typeof deviceStatuses)[number];

/** The states of an approval that the device waits for. */
export const deviceApprovals = ["pending"] as const;

/** Facts about a device's security state, reported by its agent. */
export const Posture = flatFacts("The device's security state as reported by its agent.");

/** The most tags of a device. The cost of admission rules is estimated for as many. */
export const maxTags = 32;

export const DeviceTags = Type.Array(
  Type.String({ pattern: "^[a-z0-9][a-z0-9._:-]{0,62}$", minLength: 1, maxLength: 63 }),
  {
    maxItems: maxTags,
    uniqueItems: true,
    description:
      "Tags of devices, which admission rules read as `device.tags`. Lower-case letters, digits, full stops, underscores, colons and hyphens, at most 63 characters.",
  },
);

/** Why a session of a device was ended before its time. */
export const deviceSessionEndReasons = [
  "sign-in-required",
  "signed-out",
  "signed-out-at-provider",
  "device-deactivated",
  "user-deactivated",
  "passkeys-reset",
  "provider-deleted",
] as const;
export type DeviceSessionEndReason = (typeof deviceSessionEndReasons)[number];

const deviceFields = {
  ...identity,
  name: Name,
  active: Type.Boolean({ description: "False if an administrator has deactivated the device." }),
  lastConnection: Type.Optional(Timestamp),
  status: oneOf(deviceStatuses),
  hardwareId: Type.String(),
  posture: Type.Optional(Posture),
  appVersion: Type.Optional(Type.String()),
};

export const PolicyDevice = component("PolicyDevice", "A device, as embedded in a policy.", deviceFields);
export type PolicyDevice = Static<typeof PolicyDevice>;

const DeviceUser = component("DeviceUser", "The user that a device belongs to.", {
  id: Uuid,
  lastConnection: nullable(Timestamp),
  email: Type.Optional(Type.String()),
  firstName: Type.Optional(Type.String()),
  lastName: Type.Optional(Type.String()),
});

export const DeviceSession = component(
  "DeviceSession",
  "The session of a device: its user has signed in on the device, or is expected to.",
  {
    signedInAt: Type.Optional(
      Type.Unsafe<Static<typeof Timestamp>>({
        ...Timestamp,
        description: "When the user signed in on the device; omitted if nobody has.",
      }),
    ),
    authenticatedAt: Type.Optional(
      Type.Unsafe<Static<typeof Timestamp>>({
        ...Timestamp,
        description: "When the user authenticated, which can be before the sign-in on the device.",
      }),
    ),
    methods: Type.Array(Type.String(), { description: "The methods of that authentication (RFC 8176)." }),
    provider: Type.Optional(
      Type.Unsafe<Static<typeof Uuid>>({
        ...Uuid,
        description: "The identity provider; omitted if the user authenticated without one.",
      }),
    ),
    endsAt: Type.Optional(
      Type.Unsafe<Static<typeof Timestamp>>({
        ...Timestamp,
        description:
          "From this time on, the device reaches only the control plane, until its user signs in again. Omitted if neither the tenant nor a group of the user sets a lifetime, and no new sign-in has been required.",
      }),
    ),
    ended: Type.Optional(
      Type.Boolean({ description: "True if the session was ended before its time, for example by a deactivation." }),
    ),
    endReason: Type.Optional(oneOf(deviceSessionEndReasons, { description: "Why the session was ended." })),
  },
);
export type DeviceSession = Static<typeof DeviceSession>;

export const Device = component("Device", "A machine with which a user connects to the network.", {
  ...deviceFields,
  os: Type.Optional(Type.String()),
  osVersion: Type.Optional(Type.String()),
  publicKey: Type.String({ description: "The device's WireGuard public key: 32 bytes in base64." }),
  publicKeyProved: Type.Optional(
    Type.Boolean({
      description: "True if the agent has proved that it has the private key. From then on, it must prove it again.",
    }),
  ),
  keyResetUntil: Type.Optional(
    Type.Unsafe<Static<typeof Timestamp>>({
      ...Timestamp,
      description: "Until then, the agent may replace its key without a proof of the current one.",
    }),
  ),
  approval: Type.Optional(
    Type.Unsafe<(typeof deviceApprovals)[number]>({
      ...oneOf(deviceApprovals),
      description:
        "Present while the device waits for an administrator after its user enrolled it. Reactivating the device approves it; deleting it refuses it.",
    }),
  ),
  tags: DeviceTags,
  agent: Type.Optional(
    Type.Boolean({
      description:
        "False for a device with another WireGuard app, which reports no posture. Omitted for devices that run the agent. Admission rules read it as `device.agent`.",
    }),
  ),
  enrolmentKey: Type.Optional(
    Type.Unsafe<string>({
      ...Uuid,
      description: "Id of the enrolment key with which the device was enrolled. The key can be deleted.",
    }),
  ),
  session: Type.Optional(DeviceSession),
  user: Type.Optional(DeviceUser),
});
export type Device = Static<typeof Device>;

export const KeyChallenge = component("KeyChallenge", "A challenge for the owner of a new WireGuard key.", {
  ticket: Type.String({ description: "Identifies the challenge in the answer. Opaque." }),
  tenant: Uuid,
  user: Uuid,
  ephemeralKey: Type.Unsafe<Static<typeof PublicKey>>({
    ...PublicKey,
    description: "An X25519 public key for this challenge only: 32 bytes in base64.",
  }),
  nonce: Type.String({ description: "32 random bytes in base64." }),
  expiresAt: Timestamp,
});
export type KeyChallenge = Static<typeof KeyChallenge>;

export const DeviceToken = component("DeviceToken", "The token that authenticates a device's agent.", {
  token: Type.String({ description: "The token, shown only once. Gatehouse stores only its hash." }),
});
