/** A user in the side panel of the list: roles, passkeys and devices. */
import type { ItemAt } from "@gatehouse/client/calls";
import { Stack, Title } from "@mantine/core";
import { t } from "../../messages/i18n.ts";
import { Facts } from "../../records/record-page.tsx";
import { formatPasskeyCount, usePasskeyCount } from "./passkey-count.ts";
import { RolesOf } from "./roles-of-user.tsx";
import { UserDevices } from "./user-devices.tsx";

export function UserDetails({ user }: { readonly user: ItemAt<"/tenants/users"> }) {
  const passkeys = usePasskeyCount(user.id);
  return (
    <Stack>
      <Facts
        facts={[
          { label: t("users.fields.roles"), value: user.roles.length > 0 && <RolesOf user={user} /> },
          { label: t("signIn.account.passkeys"), value: passkeys !== undefined && formatPasskeyCount(passkeys) },
        ]}
      />
      {user.devices.length > 0 && (
        <section aria-label={t("users.devices.title")}>
          <Title order={3} size="h5" mb="xs">
            {t("users.devices.title")}
          </Title>
          <UserDevices devices={user.devices} />
        </section>
      )}
    </Stack>
  );
}
