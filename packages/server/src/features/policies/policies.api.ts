/** What other features may ask of policies. */
export { createDefaultPolicy } from "./policies.built-in.ts";
export { activePoliciesNaming, type NamedPolicy } from "./policies.queries.ts";
