import Type, { type Static } from "typebox";
import { component, Description, flatFacts, identity, Name, nullable, oneOf, Timestamp } from "../schema.ts";
import { Device } from "./device.ts";
import { Mail } from "./enrolment-link.ts";
import { Role } from "./role.ts";

export const userStatuses = ["pending", "active", "inactive"] as const;
export type UserStatus = (typeof userStatuses)[number];

/** The most groups of a user. The cost of admission rules is estimated for as many. */
export const maxGroupsOfUser = 256;

/** Facts about a user that admission rules can read, such as department or country. */
export const Attributes = flatFacts("Facts about the user for admission rules, such as department, title or country.");

const userFields = {
  ...identity,
  lastConnection: Type.Optional(Timestamp),
  email: Type.Optional(Type.String()),
  status: oneOf(userStatuses),
  firstName: Type.Optional(Type.String()),
  lastName: Type.Optional(Type.String()),
  isOwner: Type.Boolean(),
  maxDevices: nullable(
    Type.Number({ description: "Devices that the user can enrol. If null, the limit of the user's groups applies." }),
  ),
  image: Type.Optional(Type.String()),
};

export const PolicyUser = component("PolicyUser", "A user, as embedded in a policy.", userFields);
export type PolicyUser = Static<typeof PolicyUser>;

const UserGroup = component("UserGroup", "A group, as embedded in a user.", {
  ...identity,
  name: Name,
  description: Type.Optional(Description),
});

export const User = component("User", "A person who connects to the network.", {
  ...userFields,
  attributes: Attributes,
  invitationExpiresAt: Type.Optional(
    Type.Unsafe<string>({ ...Timestamp, description: "Time until which a pending user can accept the invitation." }),
  ),
  invitationExpired: Type.Optional(
    Type.Boolean({ description: "Whether a pending user's invitation has expired and must be renewed." }),
  ),
  roles: Type.Array(Role, {
    description: "Roles that the user holds directly or through a group, the most privileged first.",
  }),
  groups: Type.Array(UserGroup),
  devices: Type.Array(Device),
  mail: Type.Optional(Mail),
});
export type User = Static<typeof User>;
