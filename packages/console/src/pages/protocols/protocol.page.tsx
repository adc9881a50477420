import type { ItemAt } from "@gatehouse/client/calls";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { paged } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { DeleteRecord } from "../../records/delete-record.tsx";
import { EmptyState } from "../../records/empty-list.tsx";
import { PanelTable } from "../../records/panel-table.tsx";
import { RecordLink, RecordLinks } from "../../records/record-link.tsx";
import { Facts, Panel, PanelNote, RecordPage } from "../../records/record-page.tsx";
import { useRecord } from "../../records/use-record.ts";
import { formatKind, formatPorts, type Protocol } from "./protocol-fields.tsx";

const path = "/tenants/protocols/{id}";
const resources = paged("/tenants/resources");

type Resource = ItemAt<"/tenants/resources">;

export function ProtocolPage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useRecord(path, id);
  const protocol = data?.record;
  return (
    <RecordPage
      list={{ to: "/protocols", title: t("protocols.title") }}
      title={protocol?.name}
      actions={data && <Actions protocol={data.record} etag={data.etag} />}
      error={error}
      retry={refetch}
    >
      {protocol && (
        <>
          <Panel title={t("common.about")}>
            <Facts
              facts={[
                { label: t("protocols.fields.protocolsAndPorts"), value: formatPorts(protocol) },
                { label: t("protocols.fields.kind"), value: formatKind(protocol.type) },
              ]}
            />
            <PanelNote>{protocol.type === "CUSTOM" ? t("protocols.immutable") : t("protocols.predefined")}</PanelNote>
          </Panel>
          <Uses id={id} />
        </>
      )}
    </RecordPage>
  );
}

/** The addresses of a resource that use the protocol. */
function addressesWith(id: string, addresses: Resource["addresses"]) {
  return addresses
    .filter(({ protocols }) => protocols.some((protocol) => protocol.id === id))
    .map((address) => ({ id: address.id, name: address.address }));
}

function Uses({ id }: { readonly id: string }) {
  const canRead = usePermission("resources:read");
  const { data } = useQuery({
    queryKey: [resources.path, "of protocol", id],
    enabled: canRead,
    queryFn: ({ signal }) => resources.read({ "filter[addresses.protocols.id]": id, sort: "name", limit: 50 }, signal),
  });
  if (data === undefined) return null;
  return (
    <Panel title={t("protocols.resources", { count: data.total })}>
      {data.data.length === 0 ? (
        <EmptyState
          isPart
          empty={{
            title: t("resources.empty.title"),
            text: t("protocols.resourcesEmpty"),
            action: { label: t("publish.title"), to: "/publish", permission: "resources:write" },
            guide: "console#publish-a-resource",
          }}
        />
      ) : (
        <PanelTable
          rows={data.data}
          columns={[
            {
              title: t("common.name"),
              cell: ({ id: resource, name }) => <RecordLink to={`/resources/${resource}`}>{name}</RecordLink>,
            },
            {
              title: t("resources.addresses.label"),
              isBelow: true,
              cell: ({ addresses }) => <RecordLinks path="addresses" records={addressesWith(id, addresses)} />,
            },
          ]}
        />
      )}
      {data.total > data.data.length && ` ${t("common.andMore", { count: data.total - data.data.length })}`}
    </Panel>
  );
}

function Actions({ protocol, etag }: { readonly protocol: Protocol; readonly etag: string }) {
  const canWrite = usePermission("protocols:write");
  const navigate = useNavigate();
  if (!canWrite || protocol.type !== "CUSTOM") return null;
  return (
    <DeleteRecord
      title={t("protocols.delete.title", { name: protocol.name })}
      effect={t("protocols.delete.effect")}
      path={`/tenants/protocols/${protocol.id}`}
      etag={etag}
      changesAccess={false}
      done={() => void navigate({ to: "/protocols" })}
    />
  );
}
