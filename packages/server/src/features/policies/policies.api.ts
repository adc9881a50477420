/** What other features may ask of policies. */

export {
  takeDeviceOutOfPolicies,
  takeGroupOutOfPolicies,
  takeResourceOutOfPolicies,
  takeUserOutOfPolicies,
} from "./leave-policies.ts";
export { createDefaultPolicy } from "./policies.built-in.ts";
export {
  activePoliciesNaming,
  policiesNamingGateway,
  policiesUsingRule,
} from "./policy-uses.queries.ts";
