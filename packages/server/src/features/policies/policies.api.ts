/** Public API of this feature: policies. */
export { createDefaultPolicy } from "./policies.built-in.ts";
export { readAllPolicies, readPolicy } from "./policies.queries.ts";
export { combinationProblems, defaultMode, policyLists } from "./policies.rules.ts";
export { policyView } from "./policies.view.ts";
export { lockPoliciesOfType, placePolicies } from "./policy-order.queries.ts";
export { policyReferences } from "./policy-references.ts";
export {
  deletePolicies,
  insertPolicies,
  replacePolicyLists,
  type StoredPolicy,
  updatePolicies,
} from "./policy-writes.queries.ts";
