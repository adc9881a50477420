/** The sessions of a user's devices, for administrators. */
import { Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { absent } from "../../records/absent.tsx";
import { EndOfDeviceSession, formatSessionEnd, StateOfDeviceSession } from "../../records/device-session-state.tsx";
import { EmptyState } from "../../records/empty-list.tsx";
import { NotSignedInNote } from "../../records/not-signed-in-note.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { Panel } from "../../records/record-page.tsx";
import { RequireSignIn } from "../../records/require-sign-in.tsx";
import type { User } from "./user-fields.tsx";

const shown = 100;

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
            title: t("deviceSessions.empty.title"),
            text: t("deviceSessions.empty.text"),
            guide: "device#see-sessions",
          }}
        />
      ) : (
        <Stack align="flex-start">
          <Table className="record-table">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{t("deviceSessions.fields.device")}</Table.Th>
                <Table.Th>{t("deviceSessions.fields.state")}</Table.Th>
                <Table.Th visibleFrom="xs">{t("deviceSessions.fields.end")}</Table.Th>
                <Table.Th visibleFrom="sm">{t("deviceSessions.fields.endReason")}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {data.data.map((session) => (
                <Table.Tr key={session.id}>
                  <Table.Td>
                    <RecordLink to={`/devices/${session.id}`}>{session.device.name}</RecordLink>
                  </Table.Td>
                  <Table.Td>
                    <StateOfDeviceSession session={session} />
                    {session.state !== "not-signed-in" && (
                      <Text c="dimmed" hiddenFrom="xs">
                        {t("deviceSessions.fields.end")}: <EndOfDeviceSession session={session} />
                      </Text>
                    )}
                  </Table.Td>
                  <Table.Td visibleFrom="xs">
                    <EndOfDeviceSession session={session} />
                  </Table.Td>
                  <Table.Td visibleFrom="sm">{formatSessionEnd(session) ?? absent}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
          {data.data.some(({ state }) => state === "not-signed-in") && <NotSignedInNote />}
          <RequireSignIn target={{ kind: "user", id: user.id, name: user.email ?? user.id }} size="xs" />
        </Stack>
      )}
    </Panel>
  );
}
