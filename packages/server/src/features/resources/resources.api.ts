/** What other features may ask of resources. */
export { knownResources } from "./resources.queries.ts";
