/** What other features may ask of policies. */

export {
  takeDeviceOutOfPolicies,
  takeGroupOutOfPolicies,
  takeResourceOutOfPolicies,
  takeUserOutOfPolicies,
} from "./leave-policies.ts";
export { createDefaultPolicy } from "./policies.built-in.ts";
export { combinationProblems, defaultMode, policyLists } from "./policies.rules.ts";
export {
  type BulkPolicy,
  deletePolicies,
  insertPolicies,
  placePoliciesInBulk,
  readAllPolicies,
  replacePolicyLists,
  updatePolicies,
} from "./policies-in-bulk.queries.ts";
export {
  activePoliciesNaming,
  policiesNamingGateway,
  policiesUsingRule,
} from "./policy-uses.queries.ts";
