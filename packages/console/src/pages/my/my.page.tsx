/** The page of every signed-in person, with or without roles. */
import { Stack, Text, Title } from "@mantine/core";
import { useEffect } from "react";
import { useIsVisitor, useSession } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
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
      <Title order={1}>{t("my.title")}</Title>
      {user === undefined ? (
        <Text>{t("my.keySession", { name: apiKey?.name ?? "" })}</Text>
      ) : (
        <>
          <Text c="dimmed">{user.email}</Text>
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
