import type { ItemAt } from "@gatehouse/client/calls";
import { Button, Stack, Text } from "@mantine/core";
import { useMemo } from "react";
import { api, whole } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { t } from "../../messages/i18n.ts";
import { CopiedValue } from "../../records/copied-value.tsx";
import { DeleteRecord } from "../../records/delete-record.tsx";
import type { Field } from "../../records/form-fields.tsx";
import { GuideLink } from "../../records/guide-link.tsx";
import { Kind } from "../../records/kind-icon.tsx";
import { NewButton } from "../../records/new-button.tsx";
import { OwnName } from "../../records/own-name.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { Status } from "../../records/status.tsx";
import { useAction } from "../../records/use-record.ts";
import { WholeWords } from "../../records/whole-words.tsx";

type Domain = ItemAt<"/tenants/domains">;

const fields: readonly Field[] = [
  {
    kind: "text",
    name: "domain",
    label: t("domains.fields.domain"),
    description: t("domains.fields.domainHelp"),
    example: "example.com",
    required: true,
    maxLength: 253,
  },
];

export function DomainsPage() {
  const canWrite = usePermission("identity-providers:write");
  const definition = useMemo((): ListDefinition<Domain> => definitionFor(canWrite), [canWrite]);
  return (
    <RecordList
      title={t("domains.title")}
      note={
        <>
          {t("domains.note")} <GuideLink to="identity-providers#domains" />
        </>
      }
      definition={definition}
      actions={
        <NewButton
          label={t("domains.create")}
          permission="identity-providers:write"
          dialog={(close) => (
            <RecordForm
              title={t("domains.create")}
              fields={fields}
              initial={{ domain: "" }}
              submitLabel={t("common.add")}
              submit={(values) => api.post("/tenants/domains", { body: { domain: String(values.domain).trim() } })}
              close={close}
            />
          )}
        />
      }
    />
  );
}

function definitionFor(canWrite: boolean): ListDefinition<Domain> {
  return {
    source: whole("/tenants/domains"),
    noun: t("domains.noun"),
    search: { label: t("domains.searchLabel"), by: ({ domain }) => domain },
    defaultSort: "domain",
    columns: [
      {
        key: "domain",
        title: t("domains.fields.domain"),
        sortBy: ({ domain }) => domain,
        cell: ({ domain }) => (
          <Kind of="domains">
            <OwnName>
              <WholeWords text={domain} />
            </OwnName>
          </Kind>
        ),
      },
      {
        key: "state",
        title: t("domains.fields.state"),
        sortBy: ({ verifiedAt }) => t(verifiedAt === null ? "domains.state.unverified" : "domains.state.verified"),
        cell: ({ verifiedAt }) =>
          verifiedAt === null ? (
            <Status tone="waiting">{t("domains.state.unverified")}</Status>
          ) : (
            <Status tone="good">{t("domains.state.verified")}</Status>
          ),
      },
      {
        key: "record",
        title: t("domains.fields.record"),
        isBelow: true,
        cell: ({ recordName, recordValue }) => (
          <Stack gap={8}>
            <RecordPart label={t("domains.fields.recordName")} text={recordName} />
            <RecordPart label={t("domains.fields.recordValue")} text={recordValue} />
          </Stack>
        ),
      },
      ...(canWrite
        ? [
            {
              key: "action",
              title: t("domains.fields.action"),
              isBelow: true as const,
              isAction: true as const,
              cell: (domain: Domain) => <Actions domain={domain} />,
            },
          ]
        : []),
    ],
    filters: [],
    empty: {
      title: t("domains.empty.title"),
      text: t("domains.empty.text"),
      action: { label: t("domains.create"), to: "/domains?new=1", permission: "identity-providers:write" },
      guide: "identity-providers#domains",
    },
  };
}

interface RecordPartProps {
  readonly label: string;
  readonly text: string;
}

/** The name or the value of the TXT record, to enter at the DNS provider. */
function RecordPart({ label, text }: RecordPartProps) {
  return (
    <div className="record-part">
      <Text span inherit c="dimmed">
        {label}
      </Text>
      <CopiedValue label={t("domains.partOfRecord", { part: label.toLowerCase() })} text={text} hasParts />
    </div>
  );
}

function Actions({ domain: { id, domain, verifiedAt } }: { readonly domain: Domain }) {
  const verify = useAction({
    run: () => api.post("/tenants/domains/{id}/verify", { path: { id } }),
    done: t("domains.verified"),
  });
  return (
    <div className="answers">
      {verifiedAt === null && (
        <Button size="xs" variant="default" loading={verify.isPending} onClick={() => verify.mutate()}>
          {t("domains.verify")}
        </Button>
      )}
      <DeleteRecord
        title={t("domains.delete.title", { name: domain })}
        effect={t("domains.delete.effect")}
        path={`/tenants/domains/${id}`}
        changesAccess={false}
        size="xs"
      />
    </div>
  );
}
