import type { ReactNode } from "react";
import { type PagedSource, paged } from "../../app/api.ts";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { t } from "../../messages/i18n.ts";
import { absent } from "../../records/absent.tsx";
import {
  type DeviceSession,
  EndOfDeviceSession,
  formatSessionEnd,
  StateOfDeviceSession,
} from "../../records/device-session-state.tsx";
import { Kind } from "../../records/kind-icon.tsx";
import { notSignedInText } from "../../records/not-signed-in-text.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";

/** A session, named after its device in lists. */
type Row = DeviceSession & { readonly name: string };

const sessions = paged("/tenants/device-sessions");
const source: PagedSource<Row> = {
  ...sessions,
  read: async (query, signal) => {
    const page = await sessions.read(query, signal);
    return { ...page, data: page.data.map((session) => ({ ...session, name: session.device.name })) };
  },
};

const definition: ListDefinition<Row> = {
  source,
  noun: t("deviceSessions.noun"),
  search: { label: t("deviceSessions.searchLabel"), by: "device.name" },
  defaultSort: "device.name",
  refreshMs: 30_000,
  columns: [
    {
      key: "device",
      sortBy: "device.name",
      title: t("deviceSessions.fields.device"),
      cell: ({ device }) => (
        <Kind of="devices">
          <RecordLink to={`/devices/${device.id}`}>{device.name}</RecordLink>
        </Kind>
      ),
    },
    {
      key: "state",
      title: t("deviceSessions.fields.state"),
      cell: (session) => <StateOfDeviceSession session={session} />,
    },
    {
      key: "user",
      title: t("deviceSessions.fields.user"),
      isBelow: true,
      cell: ({ user }) => <RecordLink to={`/users/${user.id}`}>{user.email}</RecordLink>,
    },
    {
      key: "signedInAt",
      title: t("deviceSessions.fields.signedIn"),
      sortBy: "signedInAt",
      visibleFrom: "lg",
      cell: ({ signedInAt }) => <RelativeTime at={signedInAt} />,
    },
    {
      key: "endsAt",
      title: t("deviceSessions.fields.end"),
      sortBy: "endsAt",
      isBelow: true,
      cell: (session) => <EndOfDeviceSession session={session} />,
    },
    {
      key: "method",
      title: t("deviceSessions.fields.method"),
      visibleFrom: "xl",
      cell: ({ provider, methods }) => provider?.name ?? formatMethods(methods),
    },
    {
      key: "endReason",
      title: t("deviceSessions.fields.endReason"),
      visibleFrom: "lg",
      cell: (session) => formatSessionEnd(session) ?? absent,
    },
  ],
  filters: [
    {
      field: "state",
      title: t("deviceSessions.fields.state"),
      options: (["active", "not-signed-in", "pending", "expired", "ended"] as const).map((value) => ({
        value,
        label: t(`deviceSessions.states.${value}`),
      })),
    },
    { field: "user.id", title: t("deviceSessions.fields.user"), kind: "user" },
  ],
  bulk: [
    {
      label: t("deviceSessions.requireSignIn.label"),
      permission: "devices:write",
      danger: true,
      changesAccess: false,
      note: t("deviceSessions.bulkNote"),
      plan: ({ id, endReason }) =>
        endReason === "sign-in-required"
          ? undefined
          : { method: "POST", path: "/tenants/device-sessions/require-sign-in", body: { devices: [id] } },
    },
  ],
  empty: {
    title: t("deviceSessions.empty.title"),
    text: t("deviceSessions.empty.text"),
    action: { label: t("deviceSessions.showDevices"), to: "/devices", permission: "devices:read" },
    guide: "device#see-sessions",
  },
};

/** Methods have the names of RFC 8176. Passkeys use a key in hardware or in software. */
function formatMethods(methods: readonly string[]): ReactNode {
  if (methods.includes("hwk") || methods.includes("swk")) return t("signIn.methods.passkey");
  return methods.length === 0 ? absent : methods.join(", ");
}

const note = (
  <>
    {notSignedInText} {t("deviceSessions.notListedNote")}
  </>
);

export function DeviceSessionsPage() {
  return <RecordList title={t("deviceSessions.title")} note={note} definition={definition} />;
}
