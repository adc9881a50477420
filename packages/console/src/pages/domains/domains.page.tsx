import type { ItemAt } from "@gatehouse/client/calls";
import { Button, Code, Group, Stack, Text } from "@mantine/core";
import { useMemo } from "react";
import { api, whole } from "../../app/api.ts";
import { CopyText } from "../../app/copy.tsx";
import { usePermission } from "../../app/session.ts";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { t } from "../../messages/i18n.ts";
import { DeleteRecord } from "../../records/delete-record.tsx";
import type { Field } from "../../records/form-fields.tsx";
import { GuideLink } from "../../records/guide-link.tsx";
import { Kind } from "../../records/kind-icon.tsx";
import { NewButton } from "../../records/new-button.tsx";
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
            <Text span inherit fw={500}>
              <WholeWords text={domain} />
            </Text>
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
            <RecordPart label={t("domains.fields.recordName")} text={recordName} isWhole />
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
  /** Whether the text stays on one line if there is room. */
  readonly isWhole?: boolean;
}

/** The name or the value of the TXT record, to enter at the DNS provider. */
function RecordPart({ label, text, isWhole = false }: RecordPartProps) {
  return (
    <Group gap="xs" wrap="nowrap" align="baseline" className="record-part">
      <Text span inherit c="dimmed" w={44} flex="none">
        {label}
      </Text>
      <Code me="auto" className={isWhole ? "record-name" : "txt-value"}>
        {text}
      </Code>
      <CopyText
        text={text}
        variant="default"
        size="xs"
        flex="none"
        aria-label={t("domains.copyPart", { part: label.toLowerCase() })}
      >
        {t("common.copy")}
      </CopyText>
    </Group>
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
