/** Public API of this feature: tenants. */
import { timingSafeEqual } from "node:crypto";
import type { Caller } from "../../http/caller.ts";
import { AppError } from "../../platform/app-error.ts";
import { hashToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";

export { WrongMasterKeyError } from "./check-master-key.ts";
export { openDemoTenant, readDemoTenantId } from "./demo-tenant.ts";
export { type Installation, type SetUpSettings, setUpInstallation } from "./set-up-installation.ts";

const operator: Caller = {
  actor: { type: "operator", name: "Operator" },
  permissions: new Set(),
  limits: undefined,
  tenantId: undefined,
};

/** @returns a check of the operator's key in constant time */
export function operatorAuthenticator(operatorKeyHash: Buffer): (key: string) => Caller {
  return (key) => {
    if (!timingSafeEqual(hashToken(key), operatorKeyHash)) throw refusalOf(key);
    return operator;
  };
}

/** The prefix only explains a refusal: any key can be configured as the operator's. */
function refusalOf(key: string): AppError {
  return key.startsWith(tokenPrefixes.apiKey)
    ? new AppError("invalid_api_key", {
        detail: "This is an API key of a tenant. The operation requires the operator key.",
      })
    : new AppError("invalid_api_key");
}
