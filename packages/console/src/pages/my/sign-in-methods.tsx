/** The person's own passkeys, recovery code and sessions. */
import { Button, Code, Group, Stack, Table, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, inSession } from "../../app/api.ts";
import { PasskeyNotice, usePasskeysWork } from "../../app/passkey-notice.tsx";
import { registerPasskey, renewRecoveryCode, suggestedName } from "../../app/passkeys.ts";
import { t } from "../../messages/i18n.ts";
import { RichText } from "../../messages/rich-text.tsx";
import { Intro } from "../../records/intro.tsx";
import { OwnName } from "../../records/own-name.tsx";
import { PanelTable } from "../../records/panel-table.tsx";
import { Panel } from "../../records/record-page.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { SecretOnce } from "../../records/secret-once.tsx";
import { useAction } from "../../records/use-record.ts";

export function Passkeys({ userId }: { readonly userId: string }) {
  const { data = [] } = useQuery({
    queryKey: ["/tenants/users/{id}/passkeys", userId],
    queryFn: () => api.get("/tenants/users/{id}/passkeys", { path: { id: userId } }),
  });
  const usable = usePasskeysWork();
  const [name, setName] = useState(suggestedName);
  const add = useAction({ run: () => inSession(() => registerPasskey(name.trim())), done: t("signIn.passkeys.added") });
  const remove = useAction<string>({
    run: (passkeyId) => api.delete("/tenants/users/{id}/passkeys/{passkeyId}", { path: { id: userId, passkeyId } }),
    done: t("signIn.passkeys.deleted"),
  });
  return (
    <Panel title={t("signIn.account.passkeys")}>
      <Stack>
        {data.length === 0 ? (
          <Text c="dimmed">{t("signIn.account.passkeysEmpty")}</Text>
        ) : (
          <Table className="record-table">
            <Table.Tbody>
              {data.map((passkey) => (
                <Table.Tr key={passkey.id}>
                  <Table.Td>
                    <OwnName>{passkey.name}</OwnName>
                    <Text c="dimmed">
                      <RichText
                        message={
                          passkey.lastUsedAt === undefined ? "signIn.passkeys.addedAt" : "signIn.passkeys.lastUsedAt"
                        }
                        elements={{ time: <RelativeTime at={passkey.lastUsedAt ?? passkey.createdAt} /> }}
                      />
                    </Text>
                  </Table.Td>
                  <Table.Td className="row-actions">
                    <Button size="xs" variant="default" onClick={() => remove.mutate(passkey.id)}>
                      {t("signIn.passkeys.delete")}
                    </Button>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        )}
        <PasskeyNotice />
        {usable && (
          <Group align="end">
            <TextInput
              label={t("signIn.passkeys.name")}
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
              maxLength={100}
            />
            <Button loading={add.isPending} disabled={name.trim() === ""} onClick={() => add.mutate()}>
              {t("signIn.passkeys.add")}
            </Button>
          </Group>
        )}
      </Stack>
    </Panel>
  );
}

export function RecoveryCode() {
  const [code, setCode] = useState<string>();
  const renew = useAction({
    run: async () => setCode(await inSession(renewRecoveryCode)),
    done: t("signIn.account.recoveryTitle"),
  });
  return (
    <Panel title={t("signIn.account.recovery")}>
      <Stack gap="sm" align="flex-start">
        <Intro>{t("signIn.account.recoveryText")}</Intro>
        <Button size="xs" variant="default" loading={renew.isPending} onClick={() => renew.mutate()}>
          {t("signIn.account.renewRecovery")}
        </Button>
      </Stack>
      {code !== undefined && (
        <SecretOnce title={t("signIn.account.recoveryTitle")} secret={code} close={() => setCode(undefined)}>
          {t("signIn.account.recoveryText")}
        </SecretOnce>
      )}
    </Panel>
  );
}

export function Sessions({ userId }: { readonly userId: string }) {
  const query = { "filter[user.id]": userId, sort: ["-lastUsedAt"], limit: 100 };
  const { data } = useQuery({
    queryKey: ["/tenants/sessions", userId],
    queryFn: () => api.get("/tenants/sessions", { query }),
  });
  const end = useAction<string>({
    run: (id) => api.delete("/tenants/sessions/{id}", { path: { id } }),
    done: t("signIn.account.endSessionDone"),
  });
  const endAll = useAction({
    run: () => api.delete("/tenants/users/{id}/sessions", { path: { id: userId } }),
    done: t("signIn.account.endAllDone"),
  });
  return (
    <Panel title={t("signIn.account.sessions")}>
      <Stack align="flex-start">
        <PanelTable
          rows={data?.data ?? []}
          columns={[
            { title: t("signIn.fields.address"), cell: ({ address }) => <Code>{address}</Code> },
            {
              title: t("signIn.fields.method"),
              isBelow: true,
              cell: ({ method }) => t(`signIn.methods.${method}`),
            },
            {
              title: t("signIn.fields.signedIn"),
              isBelow: true,
              cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
            },
            {
              title: t("signIn.fields.lastUsed"),
              isBelow: true,
              cell: ({ lastUsedAt }) => <RelativeTime at={lastUsedAt} />,
            },
          ]}
          actions={({ id, current }) =>
            current ? (
              <Text size="sm" c="dimmed" className="one-line">
                {t("signIn.account.thisSession")}
              </Text>
            ) : (
              <Button size="xs" variant="default" onClick={() => end.mutate(id)}>
                {t("signIn.account.endSession")}
              </Button>
            )
          }
        />
        <Button size="xs" variant="default" loading={endAll.isPending} onClick={() => endAll.mutate()}>
          {t("signIn.account.endAll")}
        </Button>
      </Stack>
    </Panel>
  );
}
