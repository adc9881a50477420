import { Code } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, whole } from "../../app/api.ts";
import { nameColumn } from "../../lists/columns.tsx";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { t } from "../../messages/i18n.ts";
import { textWithCode } from "../../messages/text-with-code.tsx";
import { GuideLink } from "../../records/guide-link.tsx";
import { Literals } from "../../records/literals.tsx";
import { NewButton } from "../../records/new-button.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { SecretOnce } from "../../records/secret-once.tsx";
import { newKey, newKeyBody, newKeyFields } from "./enrolment-key-fields.ts";
import { type EnrolmentKey, StateOfEnrolmentKey, stateOfKey } from "./enrolment-key-state.tsx";

const definition: ListDefinition<EnrolmentKey> = {
  source: whole("/tenants/enrolment-keys"),
  noun: t("enrolmentKeys.noun"),
  search: {
    label: t("enrolmentKeys.searchLabel"),
    by: ({ name, prefix, user }) => `${name} ${prefix} ${user.email}`,
  },
  defaultSort: "name",
  columns: [
    nameColumn("enrolment-keys", "whole"),
    {
      key: "state",
      title: t("enrolmentKeys.state.label"),
      sortBy: (key) => t(`enrolmentKeys.state.${stateOfKey(key, Date.now())}`),
      cell: (enrolmentKey) => <StateOfEnrolmentKey enrolmentKey={enrolmentKey} />,
    },
    {
      key: "prefix",
      title: t("enrolmentKeys.fields.prefix"),
      sortBy: ({ prefix }) => prefix,
      visibleFrom: "lg",
      cell: ({ prefix }) => <Code>{prefix}</Code>,
    },
    {
      key: "user",
      title: t("enrolmentKeys.fields.user"),
      isBelow: true,
      sortBy: ({ user }) => user.email,
      cell: ({ user }) => <RecordLink to={`/users/${user.id}`}>{user.email}</RecordLink>,
    },
    {
      key: "uses",
      title: t("enrolmentKeys.fields.uses"),
      isBelow: true,
      sortBy: ({ uses }) => uses,
      cell: ({ uses, maxUses }) => t("enrolmentKeys.fields.usesOf", { uses, count: maxUses }),
    },
    {
      key: "tags",
      title: t("enrolmentKeys.fields.tags"),
      visibleFrom: "lg",
      cell: ({ tags }) => <Literals texts={tags} />,
    },
    {
      key: "expiresAt",
      title: t("enrolmentKeys.fields.expires"),
      isBelow: true,
      sortBy: ({ expiresAt }) => expiresAt,
      cell: ({ expiresAt }) => <RelativeTime at={expiresAt} />,
    },
  ],
  filters: [
    {
      field: "state",
      title: t("enrolmentKeys.state.label"),
      options: (["active", "used-up", "expired", "revoked"] as const).map((value) => ({
        value,
        label: t(`enrolmentKeys.state.${value}`),
      })),
      matches: (enrolmentKey, value) => stateOfKey(enrolmentKey, Date.now()) === value,
    },
  ],
  empty: {
    title: t("enrolmentKeys.empty.title"),
    text: t("enrolmentKeys.empty.text"),
    action: { label: t("enrolmentKeys.create"), to: "/enrolment-keys?new=1", permission: "devices:write" },
    guide: "device#enrol-servers",
  },
};

const purpose = (
  <>
    {textWithCode("enrolmentKeys.intro")} <GuideLink to="device#enrol-servers" />
  </>
);

export function EnrolmentKeysListPage() {
  const navigate = useNavigate();
  const [created, setCreated] = useState<{ readonly id: string; readonly name: string; readonly key: string }>();
  return (
    <>
      <RecordList
        title={t("enrolmentKeys.title")}
        note={purpose}
        definition={definition}
        actions={
          <NewButton
            label={t("enrolmentKeys.create")}
            permission="devices:write"
            dialog={(close) => (
              <RecordForm
                title={t("enrolmentKeys.create")}
                intro={
                  <>
                    {purpose} {t("enrolmentKeys.createIntro")}
                  </>
                }
                fields={newKeyFields}
                initial={newKey}
                submitLabel={t("common.create")}
                submit={async (values) =>
                  setCreated(await api.post("/tenants/enrolment-keys", { body: newKeyBody(values) }))
                }
                close={close}
              />
            )}
          />
        }
      />
      {created !== undefined && (
        <SecretOnce
          title={t("enrolmentKeys.created.title", { name: created.name })}
          secret={created.key}
          copyLabel={t("records.secret.copyKey")}
          close={() => {
            setCreated(undefined);
            void navigate({ to: `/enrolment-keys/${created.id}` });
          }}
        >
          {textWithCode("enrolmentKeys.created.text")}
        </SecretOnce>
      )}
    </>
  );
}
