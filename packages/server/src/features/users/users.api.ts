/** What other features may ask of users. */

export {
  activateUser,
  type EnrollingUser,
  lockUserForEnrolment,
  requireEnrollable,
} from "./enrolling-user.ts";
export { takeMembersOutOfGroup } from "./leave-group.ts";
export { createOwner } from "./users.built-in.ts";
export { knownUsers } from "./users.queries.ts";
export { type PolicyUserJson, policyUserJson, policyUserView } from "./users.view.ts";
export {
  type BulkUser,
  deleteUsersInBulk,
  insertUsersInBulk,
  readAllUsers,
  updateUsersInBulk,
} from "./users-in-bulk.queries.ts";
