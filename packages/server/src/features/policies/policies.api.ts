/** What other features may ask of policies. */
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
export { policyReferences } from "./policy-references.ts";
