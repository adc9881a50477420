/** Obstacles that no policy mentions: gateways that are not online, and devices that report no posture. */
import { Group, Text } from "@mantine/core";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { api } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { RecordLinks } from "../../records/record-link.tsx";
import type { NearestMiss } from "./format-access.ts";
import { useResource } from "./use-resource.ts";

/** @param resource empty if the destination is not a resource */
export function OfflineGateways({ resource }: { readonly resource: string }) {
  const data = useResource(resource);
  // Traffic to the internet needs no gateway.
  if (data === undefined || data.type === "INTERNET") return null;
  const { gateways } = data;
  if (gateways.some(({ status }) => status === "ONLINE")) return null;
  if (gateways.length === 0) return <Text>{t("access.decision.gatewaysNone")}</Text>;
  return (
    <Group gap={6}>
      <Text>{t("access.decision.gatewaysOffline")}</Text>
      <RecordLinks path="gateways" records={gateways} />
    </Group>
  );
}

/** @param device the id */
export function deviceQuery(device: string) {
  return queryOptions({
    queryKey: ["/tenants/devices/{id}", device, "agent"],
    queryFn: ({ signal }) => api.get("/tenants/devices/{id}", { path: { id: device }, signal }),
  });
}

interface PostureNoteProps {
  readonly miss: NearestMiss;
  /** The id of the device; empty for none. */
  readonly device: string;
}

/** Shown if a condition on the posture is not met by a device that cannot report one. */
export function PostureNote({ miss, device }: PostureNoteProps) {
  const canRead = usePermission("devices:read");
  const isAboutPosture = miss.missing.some(({ condition }) => /\bdevice\.posture\b/.test(condition?.text ?? ""));
  const { data } = useQuery({ ...deviceQuery(device), enabled: canRead && isAboutPosture && device !== "" });
  if (data?.agent !== false) return null;
  return <Text mt={4}>{t("access.decision.noPosture", { device: data.name })}</Text>;
}
