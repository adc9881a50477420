/** The face of this feature: policies. */
export { createDefaultPolicy } from "./policies.built-in.ts";
export { readAllPolicies } from "./policies.queries.ts";
export { combinationProblems, defaultMode, policyLists } from "./policies.rules.ts";
export { placePolicies } from "./policy-order.queries.ts";
export { policyReferences } from "./policy-references.ts";
export {
  deletePolicies,
  insertPolicies,
  replacePolicyLists,
  type StoredPolicy,
  updatePolicies,
} from "./policy-writes.queries.ts";
