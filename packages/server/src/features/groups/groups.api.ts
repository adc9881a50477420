/** What other features may ask of groups. */
export { createDefaultGroup } from "./groups.built-in.ts";
