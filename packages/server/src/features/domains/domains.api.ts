/** Public API of this feature: email domains of tenants. */
export { findNamedTenant, isVerifiedDomain, listDomainRows } from "./domains.queries.ts";
export { domainView } from "./domains.view.ts";
