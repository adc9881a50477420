/** What other features may ask of policies. */
export { createDefaultPolicy } from "./policies.built-in.ts";
export {
  activePoliciesNaming,
  policiesNamingGateway,
  policiesUsingRule,
} from "./policy-uses.queries.ts";
