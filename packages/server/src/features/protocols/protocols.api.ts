/** Public API of this feature: protocols. */
export { createBuiltInProtocols } from "./protocols.built-in.ts";
export {
  deleteProtocols,
  insertProtocols,
  readAllProtocols,
  readProtocol,
  updateProtocols,
} from "./protocols.queries.ts";
export { canonicalNetworkProtocols } from "./protocols.rules.ts";
export { protocolView } from "./protocols.view.ts";
