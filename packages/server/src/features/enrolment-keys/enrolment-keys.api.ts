/** Public API of this feature: keys with which servers are enrolled. */
export { enrolWithKey } from "./enrol-with-key.ts";
export { deleteKeysOfUsers, enrolmentKeyReferences } from "./enrolment-key-references.ts";
export { listEnrolmentKeys as listEnrolmentKeyRows } from "./enrolment-keys.queries.ts";
export { enrolmentKeyView } from "./enrolment-keys.view.ts";
