/** Public API of this feature: admission rules. */
export { createBuiltInRules } from "./admission-rules.built-in.ts";
export {
  allowRuleId,
  deleteAdmissionRules,
  existingRuleTypes,
  insertAdmissionRules,
  readAdmissionRule,
  readAllAdmissionRules,
  updateAdmissionRules,
} from "./admission-rules.queries.ts";
export { checkRuleContent } from "./admission-rules.rules.ts";
export {
  type AdmissionRuleJson,
  admissionRuleJson,
  admissionRuleView,
  embeddedAdmissionRuleView,
} from "./admission-rules.view.ts";
