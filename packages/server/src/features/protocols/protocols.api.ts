/** What other features may ask of protocols. */
export { createBuiltInProtocols } from "./protocols.built-in.ts";
export { knownProtocols } from "./protocols.queries.ts";
