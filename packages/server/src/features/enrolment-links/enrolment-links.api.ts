/** Public API of this feature: one-time links with which people register their first passkeys. */
export {
  lockLinksOfUser,
  markLinkUsed,
  requiresSingleSignOn,
} from "./enrolment-links.queries.ts";
export {
  enrolmentPath,
  hasOpenLink,
  issueEnrolmentLinks,
  notifyUsers,
  revokeOpenLinks,
} from "./issue-enrolment-links.ts";
export { isOutgrown } from "./outgrown-links.ts";
export { findPresentedLink } from "./present-link.ts";
