/** Public API of this feature: roles. */
export { refuseGrantsBeyond, requireAssignable } from "./assignable-roles.ts";
export { giversOf, heldDirectly, roleHeldBy } from "./held-roles.queries.ts";
export { unauditedGrants } from "./role-grants.queries.ts";
export { createSystemRoles } from "./roles.built-in.ts";
export { readRole, roleIdsByType } from "./roles.queries.ts";
export { holdsEverything } from "./roles.rules.ts";
export { type RoleJson, roleJson, rolesView } from "./roles.view.ts";
