/** What other features may ask of users. */

export { activateUser, type EnrollingUser, lockUserForEnrolment } from "./enrolling-user.ts";
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
