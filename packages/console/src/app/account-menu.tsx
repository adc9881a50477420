import { ActionIcon, Menu, Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { BookOpen, CircleUser, Code, Laptop, LogOut } from "lucide-react";
import { t } from "../messages/i18n.ts";
import { providerSignOutPath } from "./providers.ts";
import { sessionQuery, useIsVisitor, useSession } from "./session.ts";
import { signOut } from "./session-requests.ts";

/** Pixels between the button and its menu, which stands clear of the line below the header. */
const headerGap = 14;

/** The menu of the session, which opens as soon as it is shown. */
export function AccountMenu() {
  const session = useSession();
  const { apiKey, user, tenant } = session;
  const isVisitor = useIsVisitor();
  const signOutPath = providerSignOutPath(session);
  const queryClient = useQueryClient();
  const endSession = async (next?: string) => {
    await signOut();
    if (next !== undefined) {
      globalThis.location.assign(next);
      return;
    }
    // The session query stays, with no session: it makes the console show the sign-in page.
    queryClient.setQueryData(sessionQuery.queryKey, null);
    queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] });
  };
  return (
    <Menu position="bottom-end" width={260} offset={headerGap} defaultOpened>
      <Menu.Target>
        <ActionIcon variant="default" size="lg" aria-label={t("app.account.label")}>
          <CircleUser size={18} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Text size="sm" px="sm" pt="xs" fw={600}>
          {tenant.name}
        </Text>
        <Text size="sm" px="sm" pb="xs" c="dimmed">
          {user?.email ?? t("app.account.key", { name: apiKey?.name ?? "" })}
        </Text>
        <Menu.Divider />
        {user !== undefined && (
          <Menu.Item component={Link} to="/my" leftSection={<Laptop size={16} aria-hidden />}>
            {t("my.account")}
          </Menu.Item>
        )}
        {!isVisitor && (
          <Menu.Item component={Link} to="/guides" leftSection={<BookOpen size={16} aria-hidden />}>
            {t("app.account.guides")}
          </Menu.Item>
        )}
        {!isVisitor && (
          <Menu.Item component="a" href="/docs" target="_blank" leftSection={<Code size={16} aria-hidden />}>
            {t("app.account.apiReference")}
          </Menu.Item>
        )}
        <Menu.Item leftSection={<LogOut size={16} aria-hidden />} onClick={() => void endSession()}>
          {t("app.account.signOut")}
        </Menu.Item>
        {signOutPath !== undefined && (
          <Menu.Item leftSection={<LogOut size={16} aria-hidden />} onClick={() => void endSession(signOutPath)}>
            {t("app.account.signOutProvider")}
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
