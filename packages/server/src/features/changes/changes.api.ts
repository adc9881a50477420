/** The engine that other features perform changes with. */
export { preparePreview, prepareSet } from "./apply-changes.ts";
export { performChanges } from "./perform-changes.ts";
