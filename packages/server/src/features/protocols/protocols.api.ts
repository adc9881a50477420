/** What other features may ask of protocols. */
export { createBuiltInProtocols } from "./protocols.built-in.ts";
export { canonicalNetworkProtocols } from "./protocols.rules.ts";
export { deleteProtocols, insertProtocols, readAllProtocols, updateProtocols } from "./protocols-in-bulk.queries.ts";
