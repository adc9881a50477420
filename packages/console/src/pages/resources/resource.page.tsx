import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate, useParams } from "@tanstack/react-router";
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { AccessTab } from "../../records/access-tab.tsx";
import { DeleteRecord } from "../../records/delete-record.tsx";
import { LastChanged } from "../../records/last-changed.tsx";
import { MoreActions } from "../../records/more-actions.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { RecordTabs } from "../../records/record-tabs.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { removeResource } from "../../records/remove-from-policies.ts";
import { readRecord, useRecord } from "../../records/use-record.ts";
import { formatResourceType } from "./format-resource-type.ts";
import { ResourceAddresses } from "./resource-addresses.tsx";
import { editedFields, type Resource, resourceValues } from "./resource-fields.tsx";
import { ResourceGateways } from "./resource-gateways.tsx";
import { ResourceStatus } from "./resource-status.tsx";

const path = "/tenants/resources/{id}";

export function ResourcePage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useRecord(path, id, 15_000);
  const resource = data?.record;
  const canAsk = usePermission("decisions:read");
  return (
    <RecordPage
      list={{ to: "/resources", title: t("resources.title") }}
      title={resource?.name}
      status={resource && resource.type !== "INTERNET" && <ResourceStatus resource={resource} />}
      actions={data && <Actions resource={data.record} etag={data.etag} />}
      graph={resource && `/access?view=graph&type=${resource.type}&focus=resource:${resource.id}`}
      error={error}
      retry={refetch}
    >
      {data && (
        <RecordTabs
          access={
            canAsk ? <AccessTab of={{ resource: data.record.id }} createdAt={data.record.createdAt} /> : undefined
          }
        >
          <Panel title={t("common.about")}>
            <Facts
              facts={[
                { label: t("common.description"), value: data.record.description },
                { label: t("common.type"), value: formatResourceType(data.record.type) },
                { label: t("common.created"), value: <RelativeTime at={data.record.createdAt} /> },
                { label: t("common.changed"), value: <LastChanged record={data.record} /> },
              ]}
            />
          </Panel>
          <ResourceAddresses resource={data.record} etag={data.etag} />
          <ResourceGateways resource={data.record} etag={data.etag} />
        </RecordTabs>
      )}
    </RecordPage>
  );
}

function Actions({ resource, etag }: { readonly resource: Resource; readonly etag: string }) {
  const canWrite = usePermission("resources:write");
  const canWritePolicies = usePermission("policies:write");
  const navigate = useNavigate();
  const [editing, { open, close }] = useDisclosure(false);
  const at = `/tenants/resources/${resource.id}`;
  if (!canWrite) return null;
  return (
    <>
      <MoreActions>
        <DeleteRecord
          title={t("resources.delete.title", { name: resource.name })}
          effect={t("resources.delete.effect", { count: resource.addresses.length })}
          path={at}
          etag={etag}
          remedy={(error) => (canWritePolicies ? removeResource({ record: resource, etag }, error) : undefined)}
          done={() => void navigate({ to: "/resources" })}
        />
      </MoreActions>
      <Button onClick={open}>{t("common.edit")}</Button>
      {editing && (
        <RecordForm
          title={t("resources.edit", { name: resource.name })}
          fields={editedFields}
          initial={resourceValues(resource)}
          submitLabel={t("common.save")}
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
