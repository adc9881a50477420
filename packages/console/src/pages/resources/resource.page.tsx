import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate, useParams } from "@tanstack/react-router";
import { usePermission } from "../../app/session.ts";
import { DeleteRecord } from "../../records/delete-record.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { StatusOf } from "../../records/status.tsx";
import { readRecord, useRecord } from "../../records/use-record.ts";
import { formatResourceType } from "./format-resource-type.ts";
import { ResourceAddresses } from "./resource-addresses.tsx";
import { editedFields, type Resource, resourceValues } from "./resource-fields.tsx";
import { ResourceGateways } from "./resource-gateways.tsx";

const path = "/tenants/resources/{id}";

export function ResourcePage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useRecord(path, id, 15_000);
  const resource = data?.record;
  return (
    <RecordPage
      list={{ to: "/resources", title: "Resources" }}
      title={resource?.name}
      status={resource?.status && <StatusOf value={resource.status} />}
      actions={data && <Actions resource={data.record} etag={data.etag} />}
      graph={resource && `/access?view=graph&type=${resource.type}&focus=resource:${resource.id}`}
      error={error}
      retry={refetch}
    >
      {data && (
        <>
          <Panel title="About">
            <Facts
              facts={[
                { label: "Description", value: data.record.description },
                { label: "Type", value: formatResourceType(data.record.type) },
                { label: "Created", value: <RelativeTime at={data.record.createdAt} /> },
              ]}
            />
          </Panel>
          <ResourceAddresses resource={data.record} etag={data.etag} />
          <ResourceGateways resource={data.record} etag={data.etag} />
        </>
      )}
    </RecordPage>
  );
}

function Actions({ resource, etag }: { readonly resource: Resource; readonly etag: string }) {
  const canWrite = usePermission("resources:write");
  const navigate = useNavigate();
  const [editing, { open, close }] = useDisclosure(false);
  const at = `/tenants/resources/${resource.id}`;
  if (!canWrite) return null;
  return (
    <>
      <DeleteRecord
        title={`Delete resource ${resource.name}?`}
        effect={`Its ${resource.addresses.length} addresses go with it, and nobody reaches it any more. It is refused while an active policy names the resource. Made anew from its event, it would have another id.`}
        path={at}
        etag={etag}
        done={() => void navigate({ to: "/resources" })}
      />
      <Button onClick={open}>Edit</Button>
      {editing && (
        <RecordForm
          title={`Edit ${resource.name}`}
          fields={editedFields}
          initial={resourceValues(resource)}
          submitLabel="Save"
          plan={({ name, description }) => [{ method: "PATCH", path: at, body: { name, description } }]}
          close={close}
          edits={{
            etag,
            reload: async () => {
              const stored = await readRecord(path, resource.id);
              return { values: resourceValues(stored.record), etag: stored.etag };
            },
          }}
        />
      )}
    </>
  );
}
