import { Code, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { paged } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import { DeleteRecord } from "../../records/delete-record.tsx";
import { RecordLinks } from "../../records/record-link.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { useRecord } from "../../records/use-record.ts";
import { formatPorts, kinds, type Protocol } from "./protocol-fields.tsx";

const path = "/tenants/protocols/{id}";
const resources = paged("/tenants/resources");

export function ProtocolPage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useRecord(path, id);
  const protocol = data?.record;
  return (
    <RecordPage
      list={{ to: "/protocols", title: "Protocols" }}
      title={protocol?.name}
      actions={data && <Actions protocol={data.record} etag={data.etag} />}
      error={error}
      retry={refetch}
    >
      {protocol && (
        <>
          <Panel title="About">
            <Facts
              facts={[
                { label: "Protocols and ports", value: <Code>{formatPorts(protocol)}</Code> },
                { label: "Kind", value: kinds[protocol.type] },
              ]}
            />
            <Text c="dimmed" size="sm" mt="sm">
              {protocol.type === "CUSTOM"
                ? "A protocol stays as it was made. For other ports, create another, and give it to the addresses instead."
                : "Every tenant has it; it can be neither changed nor deleted."}
            </Text>
          </Panel>
          <Uses id={id} />
        </>
      )}
    </RecordPage>
  );
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
    <Panel title={`Resources reached by it (${data.total})`}>
      <RecordLinks
        path="resources"
        records={data.data}
        none="None yet. Protocols are given to addresses of resources."
      />
      {data.total > data.data.length && ` and ${data.total - data.data.length} more`}
    </Panel>
  );
}

function Actions({ protocol, etag }: { readonly protocol: Protocol; readonly etag: string }) {
  const canWrite = usePermission("protocols:write");
  const navigate = useNavigate();
  if (!canWrite || protocol.type !== "CUSTOM") return null;
  return (
    <DeleteRecord
      title={`Delete protocol ${protocol.name}?`}
      effect="It is refused while an address has it, so nobody's access changes."
      path={`/tenants/protocols/${protocol.id}`}
      etag={etag}
      changesAccess={false}
      done={() => void navigate({ to: "/protocols" })}
    />
  );
}
