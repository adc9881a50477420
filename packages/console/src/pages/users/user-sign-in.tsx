/** The passkeys and sessions of a user, for administrators. */
import { Button, Group, Stack } from "@mantine/core";
import { api } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { Intro } from "../../records/intro.tsx";
import { Facts, Panel } from "../../records/record-page.tsx";
import { ReviewedButton } from "../../records/reviewed-change.tsx";
import { useAction } from "../../records/use-record.ts";
import { formatPasskeyCount, usePasskeyCount } from "./passkey-count.ts";
import type { User } from "./user-fields.tsx";

export function UserSignIn({ user: { id, email = id } }: { readonly user: User }) {
  const canWrite = usePermission("users:write");
  const passkeys = usePasskeyCount(id);
  const reset = passkeys === 0 ? "sessionsAndLinks" : "passkeys";
  const end = useAction({
    run: () => api.delete("/tenants/users/{id}/sessions", { path: { id } }),
    done: t("signIn.user.endSessionsDone"),
  });
  return (
    <Panel title={t("signIn.user.title")}>
      <Stack align="flex-start">
        {passkeys !== undefined && (
          <Facts
            facts={[
              {
                label: t("signIn.account.passkeys"),
                value: passkeys > 0 && formatPasskeyCount(passkeys),
                none: t("common.none"),
              },
            ]}
          />
        )}
        {canWrite && (
          <Group gap="xs">
            <Button size="xs" variant="default" loading={end.isPending} onClick={() => end.mutate()}>
              {t("signIn.user.endSessions")}
            </Button>
            <ReviewedButton
              label={t(`signIn.user.reset.${reset}.label`)}
              title={t(`signIn.user.reset.${reset}.title`, { email })}
              note={t(`signIn.user.reset.${reset}.note`)}
              changes={[{ method: "DELETE", path: `/tenants/users/${id}/passkeys` }]}
              // Sessions are not part of effects: the note states what ends.
              changesAccess={false}
              doneMessage={t(`signIn.user.reset.${reset}.done`)}
              size="xs"
              danger
            />
          </Group>
        )}
        {canWrite && <Intro>{t(`signIn.user.reset.${reset}.help`)}</Intro>}
      </Stack>
    </Panel>
  );
}
