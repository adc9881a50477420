import { Badge, Button, Group, Table, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate, useParams } from "@tanstack/react-router";
import { api } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import { DeleteRecord } from "../../records/delete-record.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RecordLink, RecordLinks } from "../../records/record-link.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { ReviewedButton } from "../../records/reviewed-change.tsx";
import { StatusOf } from "../../records/status.tsx";
import { readRecord, useAction, useRecord } from "../../records/use-record.ts";
import { userChanges } from "./user-changes.ts";
import { groupsField, type User, userFields, userValues } from "./user-fields.tsx";
import { fullName } from "./user-name.ts";

const path = "/tenants/users/{id}";

export function UserPage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useRecord(path, id);
  const user = data?.record;
  return (
    <RecordPage
      list={{ to: "/users", title: "Users" }}
      title={user === undefined ? undefined : (user.email ?? user.id)}
      status={user && <StatusOf value={user.status} />}
      actions={data && <Actions user={data.record} etag={data.etag} />}
      graph={user && `/access?view=graph&focus=user:${user.id}`}
      error={error}
      retry={refetch}
    >
      {user && <About user={user} />}
    </RecordPage>
  );
}

function About({ user }: { readonly user: User }) {
  return (
    <>
      <Panel title="Profile">
        <Facts
          facts={[
            { label: "Name", value: fullName(user) },
            { label: "Roles", value: user.roles.length > 0 && <Roles user={user} /> },
            { label: "Groups", value: <RecordLinks path="groups" records={user.groups} /> },
            { label: "Devices at most", value: user.maxDevices ?? "As the groups say" },
            { label: "Last connection", value: <RelativeTime at={user.lastConnection} /> },
            { label: "Invited", value: <RelativeTime at={user.createdAt} /> },
            ...(user.status === "pending"
              ? [{ label: "Invitation ends", value: <RelativeTime at={user.invitationExpiresAt} /> }]
              : []),
          ]}
        />
      </Panel>
      <Panel title="Attributes">
        {Object.keys(user.attributes).length === 0 ? (
          <Text c="dimmed">None. Admission rules can ask for them: department, title, country …</Text>
        ) : (
          <Facts facts={Object.entries(user.attributes).map(([label, value]) => ({ label, value: String(value) }))} />
        )}
      </Panel>
      <Panel title="Devices">
        {user.devices.length === 0 ? (
          <Text c="dimmed">None yet. A device is enrolled by its agent.</Text>
        ) : (
          <Table className="record-table">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Name</Table.Th>
                <Table.Th>Status</Table.Th>
                <Table.Th visibleFrom="xs">Last connection</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {user.devices.map((device) => (
                <Table.Tr key={device.id}>
                  <Table.Td>
                    <RecordLink to={`/devices/${device.id}`}>{device.name}</RecordLink>
                  </Table.Td>
                  <Table.Td>
                    <StatusOf value={device.status} />
                  </Table.Td>
                  <Table.Td visibleFrom="xs">
                    <RelativeTime at={device.lastConnection} />
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        )}
      </Panel>
    </>
  );
}

function Roles({ user }: { readonly user: User }) {
  return (
    <Group gap="xs">
      {user.roles.map(({ id, name }) => (
        <Badge key={id} variant="default" tt="none">
          {name}
        </Badge>
      ))}
    </Group>
  );
}

function Actions({ user, etag }: { readonly user: User; readonly etag: string }) {
  const canWrite = usePermission("users:write");
  const canChooseGroups = usePermission("groups:read");
  const navigate = useNavigate();
  const [editing, { open, close }] = useDisclosure(false);
  const at = `/tenants/users/${user.id}`;
  const called = user.email ?? user.id;
  const invite = useAction({
    run: () => api.post("/tenants/users/{id}/invite", { path: { id: user.id } }),
    done: "Invited anew",
  });
  if (!canWrite) return null;
  return (
    <>
      {user.status === "pending" && (
        <Button variant="default" loading={invite.isPending} onClick={() => invite.mutate()}>
          Invite again
        </Button>
      )}
      {user.status === "inactive" ? (
        <ReviewedButton
          key="reactivate"
          label="Reactivate"
          title={`Reactivate ${called}?`}
          note="The user and the user's devices are then as they were before."
          changes={[{ method: "POST", path: `${at}/reactivate` }]}
          etag={etag}
          doneMessage="Reactivated"
        />
      ) : (
        <ReviewedButton
          key="deactivate"
          label="Deactivate"
          title={`Deactivate ${called}?`}
          note="The user and all of the user's devices are cut off at once. Everything is kept, and can be reactivated."
          changes={[{ method: "PATCH", path: `${at}/deactivate` }]}
          etag={etag}
          doneMessage="Deactivated. The user's devices are cut off."
          danger
        />
      )}
      <DeleteRecord
        title={`Delete user ${called}?`}
        effect={`${user.devices.length === 0 ? "The user has no devices." : `${user.devices.length} of the user's devices are deactivated and stay as records.`} Policies no longer name the user. Made anew from its event, it would have another id.`}
        path={at}
        etag={etag}
        done={() => void navigate({ to: "/users" })}
      />
      <Button onClick={open}>Edit</Button>
      {editing && (
        <RecordForm
          title={`Edit ${called}`}
          fields={canChooseGroups ? [...userFields, groupsField] : userFields}
          initial={userValues(user)}
          submitLabel="Save"
          plan={(values, before) => userChanges(at, before, values)}
          close={close}
          edits={{
            etag,
            reload: async () => {
              const stored = await readRecord(path, user.id);
              return { values: userValues(stored.record), etag: stored.etag };
            },
          }}
        />
      )}
    </>
  );
}
