import { Button, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useMay } from "../../app/session.ts";
import { DeleteRecord } from "../../records/delete-record.tsx";
import { Moment } from "../../records/moment.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RecordLinks } from "../../records/record-link.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { readRecord, useRecord } from "../../records/use-record.ts";
import { bodyOf, type Group, groupFields, groupValues } from "./group-fields.ts";

const path = "/tenants/groups/{id}";

export function GroupPage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useRecord(path, id);
  const group = data?.record;
  return (
    <RecordPage
      list={{ to: "/groups", title: "Groups" }}
      title={group?.name}
      actions={data && <Actions group={data.record} etag={data.etag} />}
      error={error}
      retry={refetch}
    >
      {group && (
        <>
          <Panel title="About">
            <Facts
              facts={[
                { label: "Description", value: group.description },
                { label: "Devices at most, of each member", value: group.maxDevices },
                { label: "Roles that members inherit", value: group.roles.map(({ name }) => name).join(", ") },
                { label: "Groups of the identity provider", value: group.idpMapping.join(", ") },
                {
                  label: "New users from single sign-on",
                  value: group.isSamlDefaultGroup ? "Join this group" : "Join another",
                },
                { label: "Created", value: <Moment at={group.createdAt} /> },
              ]}
            />
          </Panel>
          <Panel title={`Members (${group.users.length})`}>
            {group.users.length === 0 ? (
              <Text c="dimmed">None. Users are put into groups on their own pages, or when they are invited.</Text>
            ) : (
              <RecordLinks path="users" records={group.users.map(({ id, email }) => ({ id, name: email }))} />
            )}
          </Panel>
        </>
      )}
    </RecordPage>
  );
}

function Actions({ group, etag }: { readonly group: Group; readonly etag: string }) {
  const may = useMay("groups:write");
  const navigate = useNavigate();
  const [editing, { open, close }] = useDisclosure(false);
  const at = `/tenants/groups/${group.id}`;
  if (!may) return null;
  return (
    <>
      {group.deleteable && (
        <DeleteRecord
          what={`group ${group.name}`}
          effect={`${group.users.length} users leave the group, and policies no longer name it: whoever reached something by it alone loses that. Made anew from its event, it would have another id.`}
          path={at}
          etag={etag}
          done={() => void navigate({ to: "/groups" })}
        />
      )}
      <Button onClick={open}>Edit</Button>
      {editing && (
        <RecordForm
          title={`Edit ${group.name}`}
          fields={groupFields}
          initial={groupValues(group)}
          submitLabel="Save"
          plan={(values) => [{ method: "PUT", path: at, body: bodyOf(values) }]}
          close={close}
          edits={{
            etag,
            reread: async () => {
              const stored = await readRecord(path, group.id);
              return { values: groupValues(stored.record), etag: stored.etag };
            },
          }}
        />
      )}
    </>
  );
}
