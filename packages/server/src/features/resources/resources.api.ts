/** The face of this feature: resources. */
export {
  deleteResources,
  insertResources,
  readAllResources,
  type StoredResource,
  updateResources,
} from "./resources.queries.ts";
export { type PolicyResourceJson, policyResourceJson, policyResourceView } from "./resources.view.ts";
