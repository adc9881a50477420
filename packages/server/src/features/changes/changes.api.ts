/** The engine that other features perform changes with. */
export { applySet, preparePreview, prepareSet } from "./apply-changes.ts";
export { performChanges } from "./perform-changes.ts";
export type { PreparedChange } from "./prepare-changes.ts";
