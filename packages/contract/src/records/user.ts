import Type, { type Static } from "typebox";
import { component, Description, flatFacts, identity, Name, nullable, oneOf, Timestamp } from "../schema.ts";
import { Device } from "./device.ts";
import { Role } from "./role.ts";

export const userStatuses = ["pending", "active", "inactive"] as const;
export type UserStatus = (typeof userStatuses)[number];

/** Facts about a user that admission rules may ask for: department, title, country … */
export const Attributes = flatFacts("Facts about the user, for admission rules: department, title, country …");

const userFields = {
  ...identity,
  lastConnection: Type.Optional(Timestamp),
  email: Type.Optional(Type.String()),
  status: oneOf(userStatuses),
  firstName: Type.Optional(Type.String()),
  lastName: Type.Optional(Type.String()),
  isOwner: Type.Boolean(),
  maxDevices: nullable(Type.Number({ description: "Null: as the user's groups say." })),
  image: Type.Optional(Type.String()),
};

export const PolicyUser = component("PolicyUser", "A user as a policy shows it.", userFields);
export type PolicyUser = Static<typeof PolicyUser>;

const UserGroup = component("UserGroup", "A group as a user shows it.", {
  ...identity,
  name: Name,
  description: Type.Optional(Description),
});

export const User = component("User", "A person who reaches the network.", {
  ...userFields,
  attributes: Attributes,
  invitationExpiresAt: Type.Optional(
    Type.Unsafe<string>({ ...Timestamp, description: "Until when a pending user can accept the invitation." }),
  ),
  invitationExpired: Type.Optional(
    Type.Boolean({ description: "Of a pending user: whether the invitation has to be renewed before it is accepted." }),
  ),
  roles: Type.Array(Role, {
    description: "Roles that the user holds, directly or through a group; the most privileged first.",
  }),
  groups: Type.Array(UserGroup),
  devices: Type.Array(Device),
});
export type User = Static<typeof User>;
