/** Public API of this feature: references between records. */
export { existingRecords } from "./existing-records.queries.ts";
export { type ReferenceHolder, References, requireUnused } from "./references.ts";
export { canonicalIds, missingIds, refuseMissing, requireIds } from "./requested-ids.ts";
