/** Public API of this feature: groups. */
export { refuseGroupChangeBeyond, refuseGroupsBeyond } from "./group-grants.ts";
export { createDefaultGroup } from "./groups.built-in.ts";
export {
  clearSamlDefaultGroup,
  defaultGroupId,
  deleteGroups,
  insertGroups,
  largestDeviceLimit,
  lockGroupsOfNewUsers,
  lockGroupsToJoin,
  lockMappedGroups,
  lockMembers,
  readAllGroups,
  readGroup,
  type StoredGroup,
  updateGroups,
} from "./groups.queries.ts";
export { newGroupMaxDevices } from "./groups.rules.ts";
export { auditedGroup, type PolicyGroupJson, policyGroupJson, policyGroupView } from "./groups.view.ts";
