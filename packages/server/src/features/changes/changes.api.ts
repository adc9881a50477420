/** The engine that other features perform changes with. */
export { preparePreview, prepareSet } from "./apply-changes.ts";
export { replaceStrings } from "./change-references.ts";
export { performChanges, performWithoutChecks, type Unchecked } from "./perform-changes.ts";
