/** What other features may ask of groups. */

export { refuseGroupsBeyond } from "./group-grants.ts";
export { createDefaultGroup } from "./groups.built-in.ts";
export { defaultGroupId, largestDeviceLimit } from "./groups.queries.ts";
export { type PolicyGroupJson, policyGroupJson, policyGroupView } from "./groups.view.ts";
export {
  deleteGroups,
  insertGroups,
  moveSamlMark,
  readAllGroups,
  updateGroups,
} from "./groups-in-bulk.queries.ts";
