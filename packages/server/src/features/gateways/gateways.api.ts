/** Public API of this feature: gateways. */

export {
  deleteGateways,
  gatewaysOfAddress,
  insertGateways,
  readAllGateways,
  readGateway,
  updateGateways,
} from "./gateways.queries.ts";
export { checkEndpoint, nextStatus } from "./gateways.rules.ts";
export {
  embeddedGatewayView,
  type GatewayJson,
  gatewayJson,
  gatewayView,
  heldTokens,
  noTokens,
  type TokenViewer,
  tokenViewer,
} from "./gateways.view.ts";
export { gatewaysWithKeys, ownersOfKeys } from "./reports/gateway-reports.queries.ts";
export { type GatewayReport, storeGatewayReports } from "./reports/gateway-reports.ts";
export { type RefusedKey, storeRefusedKeys } from "./reports/refused-keys.ts";
export { readSiteSettings } from "./settings/gateway-settings.queries.ts";
export { canonicalSiteSettings, noSiteSettings, siteConflicts } from "./settings/gateway-settings.rules.ts";
export { settingsView } from "./settings/gateway-settings.view.ts";
export { AppliedWaiting } from "./sync/await-applied.ts";
