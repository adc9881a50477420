import { Code } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, whole } from "../../app/api.ts";
import { nameColumn } from "../../lists/columns.tsx";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { NewButton } from "../../records/new-button.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { SecretOnce } from "../../records/secret-once.tsx";
import { bodyOf, keyFields, newKey } from "./key-fields.tsx";
import { type ApiKey, StateOfKey, stateOf } from "./key-state.tsx";

const definition: ListDefinition<ApiKey> = {
  source: whole("/tenants/api-keys"),
  noun: "API keys",
  search: { label: "Name or prefix", by: ({ name, prefix }) => `${name} ${prefix}` },
  defaultSort: "name",
  columns: [
    nameColumn("api-keys", "whole"),
    { key: "state", title: "State", visibleFrom: "xs", cell: (apiKey) => <StateOfKey apiKey={apiKey} /> },
    { key: "prefix", title: "Begins with", visibleFrom: "lg", cell: ({ prefix }) => <Code>{prefix}</Code> },
    {
      key: "permissions",
      title: "Permissions",
      visibleFrom: "md",
      sortBy: ({ permissions }) => permissions.length,
      cell: ({ permissions }) => permissions.length,
    },
    {
      key: "lastUsedAt",
      title: "Last used",
      sortBy: ({ lastUsedAt = "" }) => lastUsedAt,
      cell: ({ lastUsedAt }) => <RelativeTime at={lastUsedAt} />,
    },
    {
      key: "expiresAt",
      title: "Expires",
      visibleFrom: "sm",
      sortBy: ({ expiresAt = "9" }) => expiresAt,
      cell: ({ expiresAt }) => <RelativeTime at={expiresAt} />,
    },
    {
      key: "sourceIps",
      title: "From",
      visibleFrom: "md",
      cell: ({ sourceIps }) => (sourceIps.length === 0 ? "Anywhere" : sourceIps.join(", ")),
    },
  ],
  filters: [
    {
      field: "state",
      title: "State",
      options: [
        { value: "active", label: "Active" },
        { value: "replaced", label: "Replaced" },
        { value: "expired", label: "Expired" },
      ],
      matches: (apiKey, value) => stateOf(apiKey, Date.now()) === value,
    },
  ],
  empty: { title: "No API keys", text: "Programs call the API with keys." },
};

export function ApiKeysListPage() {
  const navigate = useNavigate();
  const [made, setMade] = useState<{ readonly id: string; readonly name: string; readonly key: string }>();
  return (
    <>
      <RecordList
        title="API keys"
        definition={definition}
        actions={
          <NewButton
            label="Create an API key"
            permission="api-keys:write"
            dialog={(close) => (
              <RecordForm
                title="Create an API key"
                fields={keyFields}
                initial={newKey}
                submitLabel="Create"
                submit={async (values) => setMade(await api.post("/tenants/api-keys", { body: bodyOf(values) }))}
                close={close}
              />
            )}
          />
        }
      />
      {made !== undefined && (
        <SecretOnce
          title={`The API key ${made.name}`}
          secret={made.key}
          close={() => {
            setMade(undefined);
            void navigate({ to: `/api-keys/${made.id}` });
          }}
        >
          Give it to the program that is to use it, which sends it in the header <Code>apikey</Code>.
        </SecretOnce>
      )}
    </>
  );
}
