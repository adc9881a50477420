/** Changes that are never reverted, whatever their content. */
import type { IrrevertibleCode } from "./revert.ts";

/** Operations that cannot be reverted, with the reason. */
export const irrevertibleOperations: Readonly<Record<string, IrrevertibleCode>> = {
  applyConfiguration: "configuration",
  createTenant: "built_in",
  transferOwnership: "ownership",
  inviteUser: "invitation",
  rotateGatewayToken: "secret",
  rotateDeviceToken: "secret",
  rotateWebhookSecret: "secret",
  resetGatewayKey: "unsupported",
  resetDeviceKey: "unsupported",
  reportDeviceKey: "observation",
  refuseGatewayKey: "observation",
  reportGatewayState: "observation",
};

/** Types of records whose changes cannot be reverted, with the reason. */
export const irrevertibleTargets: Readonly<Record<string, IrrevertibleCode>> = {
  "api-key": "api_key",
  "webhook-delivery": "delivery",
  tenant: "built_in",
  "audit-record": "unsupported",
  domain: "unsupported",
  "enrolment-key": "unsupported",
  "enrolment-link": "unsupported",
  "identity-provider": "unsupported",
  passkey: "unsupported",
  "recovery-code": "unsupported",
  session: "unsupported",
};
