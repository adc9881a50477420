/** What other features may ask of admission rules. */
export { createBuiltInRules } from "./admission-rules.built-in.ts";
export { allowRuleId, knownAdmissionRules } from "./admission-rules.queries.ts";
export { type AdmissionRuleJson, admissionRuleJson, embeddedAdmissionRuleView } from "./admission-rules.view.ts";
