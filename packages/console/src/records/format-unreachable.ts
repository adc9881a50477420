/** Why nobody can reach a resource. */
import type { ResultOf } from "@gatehouse/client/calls";
import { formatList } from "../messages/format.ts";
import { t } from "../messages/i18n.ts";

type Findings = ResultOf<"/tenants/access/findings", "get">;
export type UnreachableReason = Findings["unreachableResources"]["first"][number]["reason"];

export interface GatewayState {
  readonly name: string;
  readonly status: string;
  readonly lastOnline?: string;
}

/**
 * A resource is reported with its first defect. A gateway that was never deployed would be the next one.
 *
 * @param own the gateways of the resource
 */
export function formatUnreachable(reason: UnreachableReason, own: readonly GatewayState[]): string {
  const [first, ...others] = own;
  const words = t(`overview.findings.resources.${reason}`);
  if (first === undefined) return words;
  if (own.every(({ status, lastOnline }) => status === "PENDING" && lastOnline === undefined)) {
    const values = { reason: words, count: own.length, gateways: formatList(own.map(({ name }) => name)) };
    return reason === "gateways_offline"
      ? t("overview.findings.resources.onlyNotDeployed", values)
      : t("overview.findings.resources.notDeployed", values);
  }
  if (reason !== "gateways_offline" || others.length > 0) return words;
  const { name, status } = first;
  if (status === "MAINTENANCE") return t("overview.findings.resources.gateway_maintenance", { name });
  if (status === "ERROR") return t("overview.findings.resources.gateway_error", { name });
  return t("overview.findings.resources.gateway_offline", { name });
}
