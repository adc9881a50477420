import type { ItemAt, ResultOf } from "@gatehouse/client/calls";
import { rolePermissions } from "@gatehouse/contract/permissions";
import { Button, Skeleton, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { RichText } from "../../messages/rich-text.tsx";
import { EmptyState } from "../../records/empty-list.tsx";
import type { Field } from "../../records/form-fields.tsx";
import { PanelTable } from "../../records/panel-table.tsx";
import { PermissionTable } from "../../records/permission-table.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { RecordSelect } from "../../records/record-select.tsx";
import { RemoveButton } from "../../records/remove-button.tsx";
import { ReviewDialog } from "../../records/reviewed-change.tsx";
import { useEditing } from "../../records/use-editing.ts";
import { useRecord } from "../../records/use-record.ts";
import { describeRole } from "./describe-role.ts";

const path = "/tenants/roles/{id}";
const usersPath = "/tenants/roles/{id}/users";
const mostShown = 100;

type Role = ResultOf<typeof path, "get">;
type RoleUser = ItemAt<typeof usersPath>;

export function RolePage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useRecord(path, id);
  const role = data?.record;
  return (
    <RecordPage
      list={{ to: "/roles", title: t("roles.title") }}
      title={role?.name}
      actions={role && <AssignRole role={role} />}
      error={error}
      retry={refetch}
    >
      {role && (
        <>
          <Panel title={t("common.about")}>
            <Facts
              facts={[
                { label: t("common.description"), value: describeRole(role) },
                {
                  label: t("roles.kind.label"),
                  value: role.deleteable ? t("roles.kind.custom") : t("roles.kind.builtInHelp"),
                },
              ]}
            />
          </Panel>
          <RoleUsers role={role} />
          <Panel title={t("roles.permissions")}>
            {rolePermissions[role.type].length === 0 ? (
              <EmptyState
                isPart
                empty={{ title: t("roles.permissionsEmpty"), text: t("roles.permissionsEmptyText") }}
              />
            ) : (
              <PermissionTable label={t("roles.permissions")} held={rolePermissions[role.type]} />
            )}
          </Panel>
        </>
      )}
    </RecordPage>
  );
}

function RoleUsers({ role }: { readonly role: Role }) {
  const canRead = usePermission("users:read");
  const canChange = usePermission("roles:write") && role.type !== "OWNER" && role.type !== "DEFAULT";
  const [removed, setRemoved] = useState<RoleUser>();
  const read = (groups: boolean, signal: AbortSignal) =>
    api.get(usersPath, { path: { id: role.id }, query: { groups }, signal });
  // Every user has the default role.
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
      <Panel title={t("roles.users.title")}>
        <Text c="dimmed">{t("roles.users.all")}</Text>
      </Panel>
    );
  }
  if (error !== null) return <ProblemNotice error={error} retry={refetch} />;
  if (data === undefined) return <Skeleton height={120} aria-busy />;
  const assignment = (user: string) => (data.direct.has(user) ? t("roles.users.direct") : t("roles.users.viaGroup"));
  return (
    <Panel title={t("roles.users.titleCount", { count: data.all.length })}>
      {data.all.length === 0 ? (
        <EmptyState
          isPart
          empty={{
            title: t("users.empty.title"),
            text: t("roles.users.empty"),
            action: { label: t("roles.assign.label"), to: `/roles/${role.id}?assign=1`, permission: "users:write" },
            guide: "glossary#records",
          }}
        />
      ) : (
        <PanelTable
          rows={data.all.slice(0, mostShown)}
          columns={[
            {
              title: t("users.fields.email"),
              cell: (user) => <RecordLink to={`/users/${user.id}`}>{user.email ?? user.id}</RecordLink>,
            },
            { title: t("roles.users.assignment"), isBelow: true, cell: (user) => assignment(user.id) },
          ]}
          actions={
            canChange
              ? (user) =>
                  data.direct.has(user.id) && (
                    <RemoveButton
                      label={t("roles.revoke.labelFor", { name: user.email ?? user.id })}
                      onClick={() => setRemoved(user)}
                    />
                  )
              : undefined
          }
        />
      )}
      {data.all.length > mostShown && (
        <Text c="dimmed" mt="sm">
          <RichText
            message="roles.users.more"
            values={{ count: data.all.length - mostShown }}
            elements={{ a: <RecordLink to={`/users?roles.type=${role.type}`} inText /> }}
          />
        </Text>
      )}
      {removed !== undefined && (
        <ReviewDialog
          title={t("roles.revoke.title", { name: role.name, user: removed.email ?? removed.id })}
          note={t("roles.revoke.note")}
          changes={[{ method: "DELETE", path: `/tenants/roles/${role.id}/users/${removed.id}` }]}
          label={t("roles.revoke.label")}
          danger
          doneMessage={t("roles.revoke.done")}
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
    label: t("roles.users.user"),
    render: ({ value, onChange, error }) => (
      <RecordSelect
        path="/tenants/users"
        label={t("roles.users.user")}
        required
        value={String(value)}
        onChange={onChange}
        error={error}
      />
    ),
    format: (value) => String(value),
  },
];

function AssignRole({ role }: { readonly role: Role }) {
  const canWrite = usePermission("users:write");
  const [assigning, { open, close }] = useEditing("assign");
  if (!canWrite || role.type === "OWNER" || role.type === "DEFAULT") return null;
  return (
    <>
      <Button onClick={open}>{t("roles.assign.label")}</Button>
      {assigning && (
        <RecordForm
          title={t("roles.assign.title", { name: role.name })}
          fields={fields}
          initial={{ user: "" }}
          submitLabel={t("roles.assign.submit")}
          plan={({ user }) => [
            { method: "PATCH", path: `/tenants/users/${String(user)}/roles`, body: { addedRoles: [role.id] } },
          ]}
          close={close}
        />
      )}
    </>
  );
}
