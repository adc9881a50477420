import Type, { type Static } from "typebox";
import { component, identity, Name, oneOf, Timestamp, Uuid } from "../schema.ts";
import { DeviceTags } from "./device.ts";

/** The states of an enrolment key. A key that is not active enrols no device. */
export const enrolmentKeyStatuses = ["active", "used-up", "expired", "revoked"] as const;
export type EnrolmentKeyStatus = (typeof enrolmentKeyStatuses)[number];

/** The most devices that one key can enrol. */
export const maxUsesOfKey = 10_000;
/** The longest validity period of an enrolment key, in days. */
export const maxKeyDays = 366;
/** The validity period of a key that is created without an expiry, in days. */
export const defaultKeyDays = 30;

const enrolmentKeyFields = {
  ...identity,
  name: Name,
  prefix: Type.String({ description: "The first characters of the key, to identify it." }),
  status: oneOf(enrolmentKeyStatuses),
  user: component("EnrolmentKeyUser", "The user that devices enrolled with the key belong to.", {
    id: Uuid,
    email: Type.String(),
  }),
  tags: DeviceTags,
  maxUses: Type.Integer({ description: "The number of devices that the key can enrol." }),
  uses: Type.Integer({ description: "The number of devices that the key has enrolled, including deleted ones." }),
  expiresAt: Timestamp,
  lastUsedAt: Type.Optional(Timestamp),
  revokedAt: Type.Optional(Timestamp),
};

export const EnrolmentKey = component(
  "EnrolmentKey",
  "A key with which servers are enrolled as devices of a user, without its secret.",
  enrolmentKeyFields,
);
export type EnrolmentKey = Static<typeof EnrolmentKey>;

export const NewEnrolmentKey = component(
  "NewEnrolmentKey",
  "An enrolment key with its secret, which is shown only once.",
  {
    ...enrolmentKeyFields,
    key: Type.String({ description: "The secret key. Gatehouse stores only its SHA-256 hash." }),
  },
);
export type NewEnrolmentKey = Static<typeof NewEnrolmentKey>;
