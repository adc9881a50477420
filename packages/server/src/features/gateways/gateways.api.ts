/** What other features may ask of gateways. */

export { AppliedWaiting } from "./await-applied.ts";
export { type GatewayReport, storeGatewayReports } from "./gateway-reports.ts";
export { canonicalSiteSettings, noSiteSettings, siteConflicts } from "./gateway-settings.rules.ts";
export { gatewaysOfAddress } from "./gateways.queries.ts";
export { checkEndpoint, nextStatus } from "./gateways.rules.ts";
export {
  embeddedGatewayView,
  type GatewayJson,
  gatewayJson,
  gatewayView,
  noTokens,
  type TokenViewer,
  tokenViewer,
} from "./gateways.view.ts";
export { deleteGateways, insertGateways, readAllGateways, updateGateways } from "./gateways-in-bulk.queries.ts";
