/** Public API of this feature: users. */

export { applyMappedGroups } from "./memberships/mapped-groups.ts";
export { membershipReferences } from "./memberships/membership-references.ts";
export {
  activateUser,
  createSignedInUser,
  type EnrollingUser,
  lockUserForEnrolment,
  requireEnrollable,
} from "./user-enrolment.ts";
export { createOwner } from "./users.built-in.ts";
export {
  acceptInvitations,
  deleteUsers,
  existingUsers,
  insertUsers,
  readAllUsers,
  readDeviceLimitOfUser,
  readUser,
  type StoredUser,
  updateUsers,
} from "./users.queries.ts";
export { type PolicyUserJson, policyUserJson, policyUserView, userView } from "./users.view.ts";
