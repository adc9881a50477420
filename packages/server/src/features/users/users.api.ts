/** What other features may ask of users. */
export { createOwner } from "./users.built-in.ts";
