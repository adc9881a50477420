import Type, { type Static } from "typebox";
import { component, Description, identity, Name } from "../schema.ts";
import { Role } from "./role.ts";

const groupFields = {
  ...identity,
  name: Name,
  description: Type.Optional(Description),
  maxDevices: Type.Number({
    description:
      "Devices that each member can enrol. The user's own limit takes precedence; with several groups, the largest limit applies.",
  }),
  deviceSessionLifetime: Type.Optional(
    Type.Integer({
      description:
        "How long devices of members are trusted after their users signed in on them, in seconds. The shortest of the lifetimes of the tenant and of the user's groups applies.",
    }),
  ),
  isSamlDefaultGroup: Type.Boolean({ description: "Whether new users from single sign-on join this group." }),
  idpMapping: Type.Array(Type.String(), { description: "Groups of the identity provider that map to this group." }),
};

export const PolicyGroup = component("PolicyGroup", "A group, as embedded in a policy.", groupFields);
export type PolicyGroup = Static<typeof PolicyGroup>;

const GroupMember = component("GroupMember", "A user, as embedded in a group.", {
  ...identity,
  firstName: Type.Optional(Type.String()),
  lastName: Type.Optional(Type.String()),
  email: Type.String(),
});

export const Group = component("Group", "A set of users that policies refer to, with the roles that members inherit.", {
  ...groupFields,
  roles: Type.Array(Role, { description: "Roles that members inherit, the most privileged first." }),
  deleteable: Type.Boolean({ description: "False for the tenant's default group and its SAML default group." }),
  users: Type.Array(GroupMember),
});
export type Group = Static<typeof Group>;
