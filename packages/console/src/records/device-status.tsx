/**
 * The status of a device. A device that waits for approval is not deactivated. One that is active itself is cut off
 * while its user is deactivated.
 */
import type { ItemAt } from "@gatehouse/client/calls";
import { t } from "../messages/i18n.ts";
import { Status, StatusOf } from "./status.tsx";

type Device = Pick<ItemAt<"/tenants/devices">, "status" | "active" | "approval">;

export function isCutOffByUser({ status, active }: Device): boolean {
  return status === "Deactivated" && active;
}

export function StatusOfDevice({ device }: { readonly device: Device }) {
  if (device.approval !== undefined) return <Status tone="waiting">{t("devices.approval.pending")}</Status>;
  if (isCutOffByUser(device)) return <Status tone="idle">{t("devices.userDeactivated.status")}</Status>;
  return <StatusOf value={device.status} />;
}
