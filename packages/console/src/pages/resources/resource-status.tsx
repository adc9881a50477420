/** The status of a resource: offline only if a gateway of it was online before. */
import { t } from "../../messages/i18n.ts";
import { Status, StatusOf } from "../../records/status.tsx";

interface ResourceStatusProps {
  readonly resource: {
    readonly status?: string;
    readonly gateways: readonly { readonly status: string; readonly lastOnline?: string }[];
  };
}

export function ResourceStatus({ resource: { status = "OFFLINE", gateways } }: ResourceStatusProps) {
  if (status === "ONLINE") return <StatusOf value={status} />;
  if (gateways.length === 0) return <Status tone="idle">{t("resources.status.noGateway")}</Status>;
  const wasOnline = gateways.some((gateway) => gateway.status !== "PENDING" || gateway.lastOnline !== undefined);
  return wasOnline ? <StatusOf value={status} /> : <Status tone="idle">{t("resources.status.notDeployed")}</Status>;
}
