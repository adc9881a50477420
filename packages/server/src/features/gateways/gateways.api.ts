/** What other features may ask of gateways. */
export { knownGateways } from "./gateways.queries.ts";
export {
  embeddedGatewayView,
  type GatewayJson,
  gatewayJson,
  noTokens,
  type TokenViewer,
  tokenViewer,
} from "./gateways.view.ts";
