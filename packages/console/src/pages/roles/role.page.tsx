import type { ItemAt, ResultOf } from "@gatehouse/client/calls";
import { rolePermissions } from "@gatehouse/contract/permissions";
import { Button, Skeleton, Table, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { usePermission } from "../../app/session.ts";
import type { Field } from "../../records/form-fields.tsx";
import { PermissionTable } from "../../records/permission-table.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { RecordSelect } from "../../records/record-select.tsx";
import { ReviewDialog } from "../../records/reviewed-change.tsx";
import { useRecord } from "../../records/use-record.ts";

const path = "/tenants/roles/{id}";
const usersPath = "/tenants/roles/{id}/users";
const mostShown = 100;

type Role = ResultOf<typeof path, "get">;
type Holder = ItemAt<typeof usersPath>;

export function RolePage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useRecord(path, id);
  const role = data?.record;
  return (
    <RecordPage
      list={{ to: "/roles", title: "Roles" }}
      title={role?.name}
      actions={role && <Give role={role} />}
      error={error}
      retry={refetch}
    >
      {role && (
        <>
          <Panel title="About">
            <Facts
              facts={[
                { label: "Description", value: role.description },
                {
                  label: "Kind",
                  value: role.deleteable ? "Custom" : "Built in: what it grants is the same in every tenant.",
                },
              ]}
            />
          </Panel>
          <Holders role={role} />
          <Panel title="What it grants">
            {rolePermissions[role.type].length === 0 ? (
              <Text c="dimmed">Nothing: whoever holds it alone administers nothing.</Text>
            ) : (
              <PermissionTable label="What it grants" held={rolePermissions[role.type]} />
            )}
          </Panel>
        </>
      )}
    </RecordPage>
  );
}

function Holders({ role }: { readonly role: Role }) {
  const canRead = usePermission("users:read");
  const canChange = usePermission("roles:write") && role.type !== "OWNER" && role.type !== "DEFAULT";
  const [removed, setRemoved] = useState<Holder>();
  const read = (groups: boolean, signal: AbortSignal) =>
    api.get(usersPath, { path: { id: role.id }, query: { groups }, signal });
  // Every user has the role of those who administer nothing.
  const isEverybody = role.type === "DEFAULT";
  const { data, error, refetch } = useQuery({
    queryKey: [usersPath, role.id],
    enabled: canRead && !isEverybody,
    queryFn: async ({ signal }) => {
      const [direct, all] = await Promise.all([read(false, signal), read(true, signal)]);
      return { direct: new Set(direct.map(({ id }) => id)), all };
    },
  });
  if (!canRead) return null;
  if (isEverybody) {
    return (
      <Panel title="Who holds it">
        <Text c="dimmed">Every user.</Text>
      </Panel>
    );
  }
  if (error !== null) return <ProblemNotice error={error} retry={refetch} />;
  if (data === undefined) return <Skeleton height={120} aria-busy />;
  return (
    <Panel title={`Who holds it (${data.all.length})`}>
      {data.all.length === 0 ? (
        <Text c="dimmed">Nobody yet.</Text>
      ) : (
        <Table className="record-table">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>User</Table.Th>
              <Table.Th>Holds it</Table.Th>
              {canChange && <Table.Th w={120}>Change</Table.Th>}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {data.all.slice(0, mostShown).map((user) => (
              <Table.Tr key={user.id}>
                <Table.Td>
                  <RecordLink to={`/users/${user.id}`}>{user.email ?? user.id}</RecordLink>
                </Table.Td>
                <Table.Td>{data.direct.has(user.id) ? "Directly" : "Through a group"}</Table.Td>
                {canChange && (
                  <Table.Td>
                    {data.direct.has(user.id) && (
                      <Button
                        size="compact-sm"
                        variant="default"
                        aria-label={`Take off ${user.email ?? user.id}`}
                        onClick={() => setRemoved(user)}
                      >
                        Take off
                      </Button>
                    )}
                  </Table.Td>
                )}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      {data.all.length > mostShown && (
        <Text c="dimmed" mt="sm">
          {data.all.length - mostShown} more are not shown.{" "}
          <RecordLink to={`/users?roles.type=${role.type}`} inText>
            All of them
          </RecordLink>
        </Text>
      )}
      {removed !== undefined && (
        <ReviewDialog
          title={`Take the role ${role.name} off ${removed.email ?? removed.id}?`}
          note="What comes through a group stays for as long as the user is in it."
          changes={[{ method: "DELETE", path: `/tenants/roles/${role.id}/users/${removed.id}` }]}
          label="Take off"
          danger
          doneMessage="The role was taken off"
          close={() => setRemoved(undefined)}
        />
      )}
    </Panel>
  );
}

const fields: readonly Field[] = [
  {
    kind: "custom",
    name: "user",
    label: "User",
    render: ({ value, onChange, error }) => (
      <RecordSelect
        path="/tenants/users"
        label="User"
        required
        value={String(value)}
        onChange={onChange}
        error={error}
      />
    ),
    format: (value) => String(value),
  },
];

function Give({ role }: { readonly role: Role }) {
  const canWrite = usePermission("users:write");
  const [giving, { open, close }] = useDisclosure(false);
  if (!canWrite || role.type === "OWNER" || role.type === "DEFAULT") return null;
  return (
    <>
      <Button onClick={open}>Give to a user</Button>
      {giving && (
        <RecordForm
          title={`Give the role ${role.name}`}
          fields={fields}
          initial={{ user: "" }}
          submitLabel="Give"
          plan={({ user }) => [
            { method: "PATCH", path: `/tenants/users/${String(user)}/roles`, body: { addedRoles: [role.id] } },
          ]}
          close={close}
        />
      )}
    </>
  );
}
