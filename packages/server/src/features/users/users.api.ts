/** What other features may ask of users. */

export { membershipReferences } from "./membership-references.ts";
export {
  activateUser,
  type EnrollingUser,
  lockUserForEnrolment,
  requireEnrollable,
} from "./user-enrolment.ts";
export { createOwner } from "./users.built-in.ts";
export { type PolicyUserJson, policyUserJson, policyUserView } from "./users.view.ts";
export {
  type BulkUser,
  deleteUsersInBulk,
  insertUsersInBulk,
  readAllUsers,
  updateUsersInBulk,
} from "./users-in-bulk.queries.ts";
