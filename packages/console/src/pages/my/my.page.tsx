/** The page of every signed-in person, with or without roles. */
import { Paper, Stack, Title } from "@mantine/core";
import { useEffect } from "react";
import { PageHead } from "../../app/page-head.tsx";
import { useIsVisitor, useSession } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { EmptyState } from "../../records/empty-list.tsx";
import { Connect } from "./connect.tsx";
import { MyAccess } from "./my-access.tsx";
import { MyDevices } from "./my-devices.tsx";
import { Passkeys, RecoveryCode, Sessions } from "./sign-in-methods.tsx";

export function MyPage() {
  const { user, apiKey } = useSession();
  useEffect(() => {
    document.title = t("common.documentTitle", { title: t("my.title") });
  }, []);
  return (
    <Stack maw={880} w="100%" {...(useIsVisitor() ? { mx: "auto" } : {})}>
      {user === undefined ? (
        <>
          <Title order={1}>{t("my.title")}</Title>
          <Paper withBorder p="xl">
            <EmptyState
              isPart
              empty={{
                title: t("my.keySession.title", { name: apiKey?.name ?? "" }),
                text: t("my.keySession.text"),
                guide: "console#my-access-and-devices",
              }}
            />
          </Paper>
        </>
      ) : (
        <>
          <PageHead title={t("my.title")}>{user.email}</PageHead>
          <MyAccess />
          <MyDevices />
          <Connect />
          <Passkeys userId={user.id} />
          <RecoveryCode />
          <Sessions userId={user.id} />
        </>
      )}
    </Stack>
  );
}
