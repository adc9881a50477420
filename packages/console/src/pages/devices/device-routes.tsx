/** The routes that the agent of a device receives: traffic and names through each gateway. */
import { Skeleton, Table } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { absent } from "../../records/absent.tsx";
import { EmptyState } from "../../records/empty-list.tsx";
import { Literals } from "../../records/literals.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { Panel } from "../../records/record-page.tsx";

const path = "/tenants/devices/{id}/configuration";

/** More blocks and names are counted. */
const mostShown = 20;

export function DeviceRoutes({ id }: { readonly id: string }) {
  const canReadGateways = usePermission("gateways:read");
  const { data, error, refetch } = useQuery({
    queryKey: [path, id],
    queryFn: ({ signal }) => api.get(path, { path: { id }, signal }),
  });
  const { data: gateways = [] } = useQuery({
    queryKey: ["/tenants/gateways", "list", undefined],
    enabled: canReadGateways,
    queryFn: ({ signal }) => api.get("/tenants/gateways", { signal }),
  });
  const names = new Map(gateways.map((gateway) => [gateway.id, gateway.name]));
  return (
    <Panel title={t("devices.routes.title")}>
      {error !== null ? (
        <ProblemNotice error={error} retry={refetch} />
      ) : data === undefined ? (
        <Skeleton height={80} aria-busy />
      ) : data.gateways.length === 0 ? (
        <EmptyState
          isPart
          empty={{
            title: t(data.unserved === undefined ? "devices.routes.emptyTitle" : "devices.routes.unservedTitle"),
            text: t(data.unserved === undefined ? "devices.routes.empty" : "devices.routes.unserved"),
            guide: "device#routes",
          }}
        />
      ) : (
        <Table.ScrollContainer
          minWidth={0}
          type="native"
          tabIndex={0}
          role="group"
          aria-label={t("devices.routes.title")}
        >
          <Table className="record-table stacks">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{t("devices.routes.gateway")}</Table.Th>
                <Table.Th>{t("devices.routes.addresses")}</Table.Th>
                <Table.Th>{t("devices.routes.names")}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {data.gateways.map(({ gateway, allowedIps, names: resolved }) => (
                <Table.Tr key={gateway}>
                  <Table.Td>
                    <RecordLink to={`/gateways/${gateway}`}>{names.get(gateway) ?? gateway}</RecordLink>
                  </Table.Td>
                  <Table.Td data-label={t("devices.routes.addresses")}>
                    <Shortened texts={allowedIps.map(formatBlock)} />
                  </Table.Td>
                  <Table.Td data-label={t("devices.routes.names")}>
                    <Shortened texts={resolved} />
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </Panel>
  );
}

/** A block of one address is written as the address, as in the lists of addresses. */
function formatBlock(block: string): string {
  return block.replace(block.includes(":") ? /\/128$/ : /\/32$/, "");
}

function Shortened({ texts }: { readonly texts: readonly string[] }) {
  if (texts.length === 0) return absent;
  return (
    <>
      <Literals texts={texts.slice(0, mostShown)} />
      {texts.length > mostShown && ` ${t("common.andMore", { count: texts.length - mostShown })}`}
    </>
  );
}
