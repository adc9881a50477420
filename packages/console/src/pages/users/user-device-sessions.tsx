/** The sessions of a user's devices, for administrators. */
import { Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { absent } from "../../records/absent.tsx";
import { EndOfDeviceSession, formatSessionEnd, StateOfDeviceSession } from "../../records/device-session-state.tsx";
import { EmptyState } from "../../records/empty-list.tsx";
import { notSignedInText } from "../../records/not-signed-in-text.tsx";
import { PanelTable } from "../../records/panel-table.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { Panel } from "../../records/record-page.tsx";
import { RequireSignIn } from "../../records/require-sign-in.tsx";
import type { User } from "./user-fields.tsx";

const shown = 100;

/** Why no session of the user is listed. */
function reasonForNone({ devices, status }: User): string {
  if (devices.length === 0) return t("deviceSessions.empty.text");
  if (status === "inactive") return t("deviceSessions.empty.deactivatedUser");
  if (devices.some(({ active }) => active)) return t("deviceSessions.notListedNote");
  return t("deviceSessions.empty.deactivated");
}

export function UserDeviceSessions({ user }: { readonly user: User }) {
  const canRead = usePermission("devices:read");
  const { data, error, refetch } = useQuery({
    queryKey: ["/tenants/device-sessions", "user", user.id],
    enabled: canRead,
    queryFn: ({ signal }) =>
      api.get("/tenants/device-sessions", { query: { "filter[user.id]": user.id, limit: shown }, signal }),
  });
  if (!canRead) return null;
  return (
    // Without a number: devices on which nobody has signed in are in the list too.
    <Panel title={t("deviceSessions.title")}>
      {error !== null ? (
        <ProblemNotice error={error} retry={refetch} />
      ) : data === undefined ? null : data.data.length === 0 ? (
        <EmptyState
          isPart
          empty={{
            title: t(user.devices.length > 0 ? "deviceSessions.empty.none" : "deviceSessions.empty.title"),
            text: reasonForNone(user),
            guide: "device#see-sessions",
          }}
        />
      ) : (
        <Stack align="flex-start">
          <PanelTable
            rows={data.data}
            columns={[
              {
                title: t("deviceSessions.fields.device"),
                cell: ({ id, device }) => <RecordLink to={`/devices/${id}`}>{device.name}</RecordLink>,
              },
              {
                title: t("deviceSessions.fields.state"),
                cell: (session) => <StateOfDeviceSession session={session} />,
              },
              {
                title: t("deviceSessions.fields.end"),
                isBelow: true,
                cell: (session) => <EndOfDeviceSession session={session} />,
              },
              {
                title: t("deviceSessions.fields.endReason"),
                isBelow: true,
                cell: (session) => formatSessionEnd(session) ?? absent,
              },
            ]}
          />
          {data.data.some(({ state }) => state === "not-signed-in") && (
            <Text size="sm" c="dimmed">
              {notSignedInText}
            </Text>
          )}
          <RequireSignIn target={{ kind: "user", id: user.id, name: user.email ?? user.id }} size="xs" />
        </Stack>
      )}
    </Panel>
  );
}
