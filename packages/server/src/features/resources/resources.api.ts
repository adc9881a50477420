/** What other features may ask of resources. */
export { type PolicyResourceJson, policyResourceJson, policyResourceView } from "./resources.view.ts";
export {
  type BulkResource,
  deleteResources,
  insertResources,
  readAllResources,
  updateResources,
} from "./resources-in-bulk.queries.ts";
