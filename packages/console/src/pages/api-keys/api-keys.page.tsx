import { permissions as allPermissions } from "@gatehouse/contract/permissions";
import { Code } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, whole } from "../../app/api.ts";
import { nameColumn } from "../../lists/columns.tsx";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { t } from "../../messages/i18n.ts";
import { textWithCode } from "../../messages/text-with-code.tsx";
import { NewButton } from "../../records/new-button.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { SecretOnce } from "../../records/secret-once.tsx";
import { bodyOf, keyFields, newKey } from "./key-fields.tsx";
import { type ApiKey, formatState, StateOfKey, stateOf } from "./key-state.tsx";

const definition: ListDefinition<ApiKey> = {
  source: whole("/tenants/api-keys"),
  noun: t("apiKeys.noun"),
  search: { label: t("apiKeys.searchLabel"), by: ({ name, prefix }) => `${name} ${prefix}` },
  defaultSort: "name",
  columns: [
    nameColumn("api-keys", "whole"),
    {
      key: "state",
      title: t("apiKeys.state.label"),
      sortBy: formatState,
      cell: (apiKey) => <StateOfKey apiKey={apiKey} />,
    },
    {
      key: "prefix",
      title: t("apiKeys.fields.prefix"),
      sortBy: ({ prefix }) => prefix,
      visibleFrom: "lg",
      cell: ({ prefix }) => <Code>{prefix}</Code>,
    },
    {
      key: "permissions",
      title: t("apiKeys.fields.permissions"),
      visibleFrom: "md",
      sortBy: ({ permissions }) => permissions.length,
      cell: ({ permissions }) =>
        t("roles.permissionsCount", { count: permissions.length, total: allPermissions.length }),
    },
    {
      key: "lastUsedAt",
      title: t("apiKeys.fields.lastUsed"),
      isBelow: true,
      sortBy: ({ lastUsedAt = "" }) => lastUsedAt,
      cell: ({ lastUsedAt }) => <RelativeTime at={lastUsedAt} />,
    },
    {
      key: "expiresAt",
      title: t("apiKeys.fields.expires"),
      isBelow: true,
      sortBy: ({ expiresAt = "9" }) => expiresAt,
      cell: ({ expiresAt }) => <RelativeTime at={expiresAt} />,
    },
    {
      key: "sourceIps",
      title: t("apiKeys.fields.sourceIps"),
      visibleFrom: "lg",
      cell: ({ sourceIps }) => (sourceIps.length === 0 ? t("apiKeys.fields.anyAddress") : sourceIps.join(", ")),
    },
  ],
  filters: [
    {
      field: "state",
      title: t("apiKeys.state.label"),
      options: [
        { value: "active", label: t("apiKeys.state.active") },
        { value: "replaced", label: t("apiKeys.state.replaced") },
        { value: "expired", label: t("apiKeys.state.expired") },
      ],
      matches: (apiKey, value) => stateOf(apiKey, Date.now()) === value,
    },
  ],
  empty: {
    title: t("apiKeys.empty.title"),
    text: t("apiKeys.empty.text"),
    action: { label: t("apiKeys.create"), to: "/api-keys?new=1", permission: "api-keys:write" },
    guide: "tour#keys-with-fewer-permissions",
  },
};

export function ApiKeysListPage() {
  const navigate = useNavigate();
  const [created, setCreated] = useState<{ readonly id: string; readonly name: string; readonly key: string }>();
  return (
    <>
      <RecordList
        title={t("apiKeys.title")}
        definition={definition}
        actions={
          <NewButton
            label={t("apiKeys.create")}
            permission="api-keys:write"
            dialog={(close) => (
              <RecordForm
                title={t("apiKeys.create")}
                fields={keyFields}
                initial={newKey}
                submitLabel={t("common.create")}
                submit={async (values) => setCreated(await api.post("/tenants/api-keys", { body: bodyOf(values) }))}
                close={close}
              />
            )}
          />
        }
      />
      {created !== undefined && (
        <SecretOnce
          title={t("apiKeys.created.title", { name: created.name })}
          secret={created.key}
          copyLabel={t("records.secret.copyKey")}
          close={() => {
            setCreated(undefined);
            void navigate({ to: `/api-keys/${created.id}` });
          }}
        >
          {textWithCode("apiKeys.created.text")}
        </SecretOnce>
      )}
    </>
  );
}
