/** The face of this feature: e-mail domains of tenants. */
export { findNamedTenant, isVerifiedDomain } from "./domains.queries.ts";
