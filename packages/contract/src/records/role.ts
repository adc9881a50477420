import Type, { type Static } from "typebox";
import { roleTypes } from "../permissions.ts";
import { component, Description, identity, Name, oneOf } from "../schema.ts";

export const Role = component("Role", "A set of permissions for administering the tenant.", {
  ...identity,
  name: Name,
  description: Type.Optional(Description),
  deleteable: Type.Boolean({ description: "False for system roles." }),
  type: oneOf(roleTypes),
});
export type Role = Static<typeof Role>;
