import Type, { type Static } from "typebox";
import { component, Description, identity, Name } from "../schema.ts";
import { Role } from "./role.ts";

const groupFields = {
  ...identity,
  name: Name,
  description: Type.Optional(Description),
  maxDevices: Type.Number({
    description: "Devices that a member may enrol, unless the user or another group says more.",
  }),
  isSamlDefaultGroup: Type.Boolean({ description: "New users from single sign-on join this group." }),
  idpMapping: Type.Array(Type.String(), { description: "Groups of the identity provider that map to this one." }),
};

export const PolicyGroup = component("PolicyGroup", "A group as a policy shows it.", groupFields);
export type PolicyGroup = Static<typeof PolicyGroup>;

const GroupMember = component("GroupMember", "A user as a group shows it.", {
  ...identity,
  firstName: Type.Optional(Type.String()),
  lastName: Type.Optional(Type.String()),
  email: Type.String(),
});

export const Group = component("Group", "A set of users that policies name, with the roles its members inherit.", {
  ...groupFields,
  roles: Type.Array(Role, { description: "Roles that members inherit; the most privileged first." }),
  deleteable: Type.Boolean({ description: "False for the tenant's default group and its SAML default group." }),
  users: Type.Array(GroupMember),
});
export type Group = Static<typeof Group>;
