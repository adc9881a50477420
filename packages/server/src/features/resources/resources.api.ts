/** Public API of this feature: resources. */
export {
  deleteResources,
  insertResources,
  readAllResources,
  readResource,
  type StoredResource,
  updateResources,
} from "./resources.queries.ts";
export { type PolicyResourceJson, policyResourceJson, policyResourceView, resourceView } from "./resources.view.ts";
