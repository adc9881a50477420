import Type, { type Static } from "typebox";
import { roleTypes } from "../permissions.ts";
import { component, Description, identity, Name, oneOf } from "../schema.ts";

export const Role = component("Role", "What its holders may administer.", {
  ...identity,
  name: Name,
  description: Type.Optional(Description),
  deleteable: Type.Boolean({ description: "False for the system roles." }),
  type: oneOf(roleTypes),
});
export type Role = Static<typeof Role>;
