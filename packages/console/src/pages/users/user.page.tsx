import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { api } from "../../app/api.ts";
import { useInstallation } from "../../app/installation.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { usePermission } from "../../app/session.ts";
import { formatList } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { AccessTab } from "../../records/access-tab.tsx";
import { DeleteRecord } from "../../records/delete-record.tsx";
import { EmptyState } from "../../records/empty-list.tsx";
import { formatFact } from "../../records/format-fact.ts";
import { MoreActions } from "../../records/more-actions.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RecordLinks } from "../../records/record-link.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { RecordTabs } from "../../records/record-tabs.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { ReviewedButton } from "../../records/reviewed-change.tsx";
import { StatusOf } from "../../records/status.tsx";
import { useEditing } from "../../records/use-editing.ts";
import { readRecord, useAction, useRecord } from "../../records/use-record.ts";
import { formatDeviceLimit, useDeviceLimitOfGroups } from "./device-limit.ts";
import { EnrolmentLinks } from "./enrolment-links.tsx";
import { MailWarning } from "./mail-state.tsx";
import { RolesOf } from "./roles-of-user.tsx";
import { TransferOwnership } from "./transfer-ownership.tsx";
import { UserApiKeys, useApiKeysOf } from "./user-api-keys.tsx";
import { userChanges } from "./user-changes.ts";
import { UserDeviceSessions } from "./user-device-sessions.tsx";
import { UserDevices } from "./user-devices.tsx";
import { groupsField, rolesField, type User, userFields, userValues } from "./user-fields.tsx";
import { fullName } from "./user-name.ts";
import { UserSignIn } from "./user-sign-in.tsx";

const path = "/tenants/users/{id}";

export function UserPage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useRecord(path, id);
  const user = data?.record;
  const canAsk = usePermission("decisions:read");
  return (
    <RecordPage
      list={{ to: "/users", title: t("users.title") }}
      title={user === undefined ? undefined : (user.email ?? user.id)}
      status={user && <StatusOf value={user.status} />}
      actions={data && <Actions user={data.record} etag={data.etag} />}
      graph={user && `/access?view=graph&focus=user:${user.id}`}
      error={error}
      retry={refetch}
    >
      {user && <MailWarning mail={user.mail} />}
      {user && (
        <RecordTabs access={canAsk ? <AccessTab of={{ user: user.id }} createdAt={user.createdAt} /> : undefined}>
          <About user={user} />
          <UserDeviceSessions user={user} />
          <UserSignIn user={user} />
          <EnrolmentLinks user={user} />
          <UserApiKeys user={user} etag={data.etag} />
        </RecordTabs>
      )}
    </RecordPage>
  );
}

function About({ user }: { readonly user: User }) {
  const limitOfGroups = useDeviceLimitOfGroups(user.id, user.maxDevices === null);
  return (
    <>
      <Panel title={t("common.about")}>
        <Facts
          facts={[
            { label: t("common.name"), value: fullName(user) },
            { label: t("users.fields.roles"), value: user.roles.length > 0 && <RolesOf user={user} /> },
            { label: t("users.fields.groups"), value: <RecordLinks path="groups" records={user.groups} /> },
            { label: t("users.fields.maxDevices"), ...formatDeviceLimit(user.maxDevices, limitOfGroups) },
            { label: t("users.fields.lastConnection"), value: <RelativeTime at={user.lastConnection} /> },
            { label: t("common.created"), value: <RelativeTime at={user.createdAt} /> },
            ...(user.status === "pending"
              ? [{ label: t("users.fields.invitationExpires"), value: <RelativeTime at={user.invitationExpiresAt} /> }]
              : []),
          ]}
        />
      </Panel>
      <Panel title={t("users.attributes.title")}>
        {Object.keys(user.attributes).length === 0 ? (
          <EmptyState
            isPart
            empty={{
              title: t("users.attributes.empty"),
              text: t("users.attributes.emptyText"),
              action: { label: t("users.attributes.add"), to: `/users/${user.id}?edit=1`, permission: "users:write" },
              guide: "access#what-rules-read",
            }}
          />
        ) : (
          <Facts facts={Object.entries(user.attributes).map(([name, value]) => formatFact(name, value))} />
        )}
      </Panel>
      <Panel title={t("common.titleCount", { title: t("users.devices.title"), count: user.devices.length })}>
        {user.devices.length === 0 ? (
          <EmptyState
            isPart
            empty={{ title: t("devices.empty.title"), text: t("users.devices.empty"), guide: "device#enrol" }}
          />
        ) : (
          <UserDevices devices={user.devices} />
        )}
      </Panel>
    </>
  );
}

function Actions({ user, etag }: { readonly user: User; readonly etag: string }) {
  const canWrite = usePermission("users:write");
  const canReadKeys = usePermission("api-keys:read");
  const canRevokeKeys = usePermission("api-keys:write");
  const keys = useApiKeysOf(user.id);
  const canReadGroups = usePermission("groups:read");
  const canReadRoles = usePermission("roles:read");
  const navigate = useNavigate();
  const [editing, { open, close }] = useEditing();
  const roles = useQuery({
    queryKey: ["/tenants/users/{id}/roles", user.id],
    queryFn: () => readDirectRoles(user.id),
    enabled: editing,
    staleTime: 0,
    gcTime: 0,
    // The form keeps the roles with which it opened.
    refetchOnWindowFocus: false,
  });
  const limitOfGroups = useDeviceLimitOfGroups(user.id, editing);
  const at = `/tenants/users/${user.id}`;
  const name = user.email ?? user.id;
  // Offer mail only after the server has confirmed that it sends mail.
  const sendsMail = useInstallation()?.sendsMail ?? false;
  const invite = useAction({
    run: () => api.post("/tenants/users/{id}/invite", { path: { id: user.id }, body: { notify: sendsMail } }),
    done: sendsMail ? t("users.invite.againDone") : t("users.invite.renewDone"),
  });
  if (!canWrite) return null;
  return (
    <>
      {user.status === "pending" && (
        <Button variant="default" loading={invite.isPending} onClick={() => invite.mutate()}>
          {sendsMail ? t("users.invite.again") : t("users.invite.renew")}
        </Button>
      )}
      {user.status === "inactive" ? (
        <ReviewedButton
          key="reactivate"
          label={t("users.reactivate.label")}
          title={t("users.reactivate.title", { name })}
          note={t("users.reactivate.note")}
          changes={[{ method: "POST", path: `${at}/reactivate` }]}
          etag={etag}
          doneMessage={t("users.reactivate.done")}
        />
      ) : (
        <ReviewedButton
          key="deactivate"
          action="deactivate"
          label={t("users.deactivate.label")}
          title={t("users.deactivate.title", { name })}
          note={[
            t("users.deactivate.note"),
            ...(keys.length > 0 ? [t("users.apiKeys.keep", { count: keys.length, names: namesOf(keys) })] : []),
            ...(canReadKeys ? [] : [t("users.apiKeys.keepUnknown")]),
          ].join(" ")}
          changes={[{ method: "PATCH", path: `${at}/deactivate` }]}
          etag={etag}
          doneMessage={t("users.deactivate.done")}
          danger
        />
      )}
      <MoreActions>
        {user.status !== "inactive" && canRevokeKeys && keys.length > 0 && (
          <ReviewedButton
            key="deactivate-with-keys"
            label={t("users.apiKeys.deactivateAndRevoke", { count: keys.length })}
            title={t("users.deactivate.title", { name })}
            note={t("users.apiKeys.revokeNote")}
            changes={[
              { method: "PATCH", path: `${at}/deactivate` },
              { method: "DELETE", path: `${at}/api-keys` },
            ]}
            etag={etag}
            doneMessage={t("users.deactivate.done")}
            danger
          />
        )}
        <TransferOwnership user={user} etag={etag} />
        <DeleteRecord
          title={t("users.delete.title", { name })}
          effect={
            user.devices.length === 0
              ? t("users.delete.effect")
              : t("users.delete.effectDevices", { count: user.devices.length })
          }
          path={at}
          etag={etag}
          done={() => void navigate({ to: "/users" })}
        />
      </MoreActions>
      <Button onClick={open} loading={editing && roles.isPending}>
        {t("common.edit")}
      </Button>
      {editing && roles.error !== null && <ProblemNotice error={roles.error} retry={roles.refetch} />}
      {editing && roles.data !== undefined && (
        <RecordForm
          title={t("users.edit", { name })}
          fields={[
            ...userFields(limitOfGroups),
            ...(canReadGroups ? [groupsField] : []),
            ...(canReadRoles ? [rolesField] : []),
          ]}
          initial={userValues(user, roles.data)}
          submitLabel={t("common.save")}
          plan={(values, before) => userChanges(at, before, values)}
          close={close}
          edits={{
            etag,
            reload: async () => {
              const [stored, direct] = await Promise.all([readRecord(path, user.id), readDirectRoles(user.id)]);
              return { values: userValues(stored.record, direct), etag: stored.etag };
            },
          }}
        />
      )}
    </>
  );
}

const namedKeys = 10;

function namesOf(keys: readonly { readonly name: string }[]): string {
  const names = keys.slice(0, namedKeys).map((key) => key.name);
  return formatList(keys.length > namedKeys ? [...names, "…"] : names);
}

/** The ids of the roles that are assigned directly, except the owner's, which is only transferred. */
async function readDirectRoles(id: string): Promise<readonly string[]> {
  const roles = await api.get("/tenants/users/{id}/roles", { path: { id }, query: { rolesOnly: true } });
  return roles.flatMap((role) => (role.type === "OWNER" ? [] : [role.id]));
}
