/** Public API of this feature: e-mail domains of tenants. */
export { findNamedTenant, isVerifiedDomain, listDomainRows } from "./domains.queries.ts";
export { domainView } from "./domains.view.ts";
