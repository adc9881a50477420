import type { ItemAt } from "@gatehouse/client/calls";
import { Code } from "@mantine/core";
import { paged } from "../../app/api.ts";
import { periodFilter } from "../../lists/filters.ts";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { t } from "../../messages/i18n.ts";
import { absent } from "../../records/absent.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";

type SignIn = ItemAt<"/tenants/sign-ins">;

const methods: readonly SignIn["method"][] = ["passkey", "enrolment-link", "recovery-code", "oidc", "saml"];

const definition: ListDefinition<SignIn> = {
  source: paged("/tenants/sign-ins"),
  noun: t("signIn.log.noun"),
  search: { label: t("signIn.log.searchLabel"), by: "user.email" },
  defaultSort: "-createdAt",
  columns: [
    {
      key: "createdAt",
      title: t("signIn.fields.time"),
      sortBy: "createdAt",
      cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
    },
    {
      key: "user",
      title: t("signIn.fields.user"),
      isBelow: true,
      cell: ({ user }) =>
        user === undefined ? absent : <RecordLink to={`/users/${user.id}`}>{user.email}</RecordLink>,
    },
    {
      key: "method",
      isBelow: true,
      title: t("signIn.fields.method"),
      cell: ({ method, provider }) => provider?.name ?? t(`signIn.methods.${method}`),
    },
    { key: "outcome", title: t("signIn.fields.outcome"), cell: ({ outcome }) => t(`signIn.log.${outcome}`) },
    {
      key: "reason",
      title: t("signIn.fields.reason"),
      visibleFrom: "md",
      cell: ({ reason, note }) => reason ?? note ?? absent,
    },
    { key: "address", title: t("signIn.fields.address"), isBelow: true, cell: ({ address }) => <Code>{address}</Code> },
  ],
  filters: [
    periodFilter,
    {
      field: "outcome",
      title: t("signIn.fields.outcome"),
      options: [
        { value: "succeeded", label: t("signIn.log.succeeded") },
        { value: "failed", label: t("signIn.log.failed") },
      ],
    },
    {
      field: "method",
      title: t("signIn.fields.method"),
      options: methods.map((value) => ({ value, label: t(`signIn.methods.${value}`) })),
    },
    { field: "address", title: t("signIn.fields.address"), kind: "text", isAdvanced: true },
    { field: "reason", title: t("signIn.fields.reason"), kind: "part", isAdvanced: true },
  ],
  empty: {
    title: t("signIn.log.empty.title"),
    text: t("signIn.log.empty.text"),
    guide: "identity-providers#sign-in-page",
  },
};

export function SignInsPage() {
  return <RecordList title={t("signIn.log.title")} definition={definition} />;
}
