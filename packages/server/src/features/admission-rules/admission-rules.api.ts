/** What other features may ask of admission rules. */
export { createBuiltInRules } from "./admission-rules.built-in.ts";
