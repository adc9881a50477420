/** What other features may ask of admission rules. */
export { createBuiltInRules } from "./admission-rules.built-in.ts";
export { allowRuleId, existingRuleTypes } from "./admission-rules.queries.ts";
export { checkRuleContent } from "./admission-rules.rules.ts";
export { type AdmissionRuleJson, admissionRuleJson, embeddedAdmissionRuleView } from "./admission-rules.view.ts";
export {
  deleteAdmissionRules,
  insertAdmissionRules,
  readAllAdmissionRules,
  updateAdmissionRules,
} from "./admission-rules-in-bulk.queries.ts";
