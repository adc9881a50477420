import { Text } from "@mantine/core";
import { t } from "../../messages/i18n.ts";
import { formatUnreachable, type GatewayState, type UnreachableReason } from "../../records/format-unreachable.ts";
import { Status } from "../../records/status.tsx";

interface ResourceStatusProps {
  readonly resource: {
    readonly status?: string;
    readonly type: string;
    readonly gateways: readonly GatewayState[];
  };
  /** The reason that the findings give; undefined if they were not read, or do not contain the resource. */
  readonly found?: UnreachableReason | undefined;
}

/** The words and colours are those of the overview. Without findings, only the gateways are known. */
export function ResourceStatus({ resource: { status = "OFFLINE", type, gateways }, found }: ResourceStatusProps) {
  // Policies decide for each connection whether it uses a gateway at all.
  if (type === "INTERNET") {
    return (
      <Text span inherit c="dimmed" className="no-dot">
        {t("resources.status.byPolicy")}
      </Text>
    );
  }
  if (status === "ONLINE" && found === undefined) {
    return <Status tone="good">{t("resources.status.gatewayOnline")}</Status>;
  }
  const reason = found ?? (gateways.length === 0 ? "no_gateways" : "gateways_offline");
  return (
    <span className="status-reason">
      <Status tone="bad">{t("resources.status.unreachable")}</Status>
      <span>{formatUnreachable(reason, gateways)}</span>
    </span>
  );
}
