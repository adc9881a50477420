/** The addresses to which DNS answers for a name are limited: its own limit, or the one of each of its gateways. */
import { Stack, Text } from "@mantine/core";
import { useQueries, useQuery } from "@tanstack/react-query";
import { api } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { readRecord } from "../../records/use-record.ts";

const settingsPath = "/tenants/gateways/{id}/settings";

/** The gateways of an address. */
export function useGatewaysOf(id: string) {
  return useQuery({
    queryKey: ["/tenants/addresses/{id}/gateways", id],
    queryFn: ({ signal }) => api.get("/tenants/addresses/{id}/gateways", { path: { id }, signal }),
  });
}

interface AnswersWithinProps {
  /** Id of the address. */
  readonly id: string;
  readonly own: readonly string[] | undefined;
}

export function AnswersWithin({ id, own }: AnswersWithinProps) {
  return own === undefined ? <WithinNetworks id={id} /> : own.join(", ");
}

/** The default: the networks that an administrator set for a gateway. */
function WithinNetworks({ id }: { readonly id: string }) {
  const canRead = usePermission("gateways:read");
  const { data: gateways = [] } = useGatewaysOf(id);
  const settings = useQueries({
    queries: gateways.map((gateway) => ({
      queryKey: [settingsPath, gateway.id],
      queryFn: ({ signal }: { readonly signal: AbortSignal }) => readRecord(settingsPath, gateway.id, signal),
      enabled: canRead,
    })),
  });
  const limits = gateways.map(({ id: gateway, name }, index) => {
    const record = settings[index]?.data?.record;
    return { gateway, name, networks: record && (record.networks ?? []) };
  });
  if (limits.length === 0 || limits.some(({ networks }) => networks === undefined)) {
    return t("addresses.fields.answersWithinDefault");
  }
  if (limits.every(({ networks = [] }) => networks.length === 0)) return t("addresses.fields.answersWithinAny");
  return (
    <Stack gap={4}>
      {limits.map(({ gateway, name, networks = [] }) => (
        <Text key={gateway}>
          {networks.length === 0
            ? t("addresses.fields.answersWithinAnyAt", { name })
            : t("addresses.fields.answersWithinAt", { name, networks: networks.join(", ") })}
        </Text>
      ))}
    </Stack>
  );
}
