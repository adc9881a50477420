import { Text } from "@mantine/core";
import { t } from "../../messages/i18n.ts";
import { Status } from "../../records/status.tsx";

interface GatewayState {
  readonly name: string;
  readonly status: string;
  readonly lastOnline?: string;
}

interface ResourceStatusProps {
  readonly resource: {
    readonly status?: string;
    readonly type: string;
    readonly gateways: readonly GatewayState[];
  };
}

/** Unreachable only if a gateway of it was online before. */
export function ResourceStatus({ resource: { status = "OFFLINE", type, gateways } }: ResourceStatusProps) {
  // Policies decide for each connection whether it uses a gateway at all.
  if (type === "INTERNET") {
    return (
      <Text span inherit c="dimmed" className="no-dot">
        {t("resources.status.byPolicy")}
      </Text>
    );
  }
  if (status === "ONLINE") return <Status tone="good">{t("resources.status.gatewayOnline")}</Status>;
  if (gateways.length === 0) return <Status tone="idle">{t("resources.status.noGateway")}</Status>;
  const wasOnline = gateways.some((gateway) => gateway.status !== "PENDING" || gateway.lastOnline !== undefined);
  if (!wasOnline) return <Status tone="idle">{t("resources.status.notDeployed")}</Status>;
  return (
    <span className="status-reason">
      <Status tone="bad">{t("resources.status.unreachable")}</Status>
      <span>{formatNotOnline(gateways)}</span>
    </span>
  );
}

/** Why no gateway serves the resource, such as "Gateway Dublin office is in maintenance". */
function formatNotOnline(gateways: readonly GatewayState[]): string {
  const [only, ...others] = gateways;
  if (only === undefined || others.length > 0) return t("resources.status.reasons.several");
  const { name, status } = only;
  if (status === "MAINTENANCE") return t("resources.status.reasons.maintenance", { name });
  return status === "ERROR"
    ? t("resources.status.reasons.error", { name })
    : t("resources.status.reasons.offline", { name });
}
