/** The API keys that a user created. They work on when the user is deactivated. */
import { Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { Intro } from "../../records/intro.tsx";
import { PanelTable } from "../../records/panel-table.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { Panel } from "../../records/record-page.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { ReviewedButton } from "../../records/reviewed-change.tsx";
import type { User } from "./user-fields.tsx";

const path = "/tenants/users/{id}/api-keys";

/** The keys that a user created; empty for callers that may not list them. */
export function useApiKeysOf(id: string) {
  const canRead = usePermission("api-keys:read");
  const { data = [] } = useQuery({
    queryKey: [path, id],
    queryFn: () => api.get(path, { path: { id } }),
    enabled: canRead,
  });
  return data;
}

export function UserApiKeys({ user, etag }: { readonly user: User; readonly etag: string }) {
  const keys = useApiKeysOf(user.id);
  const canWrite = usePermission("api-keys:write");
  if (keys.length === 0) return null;
  return (
    <Panel title={t("users.apiKeys.title")}>
      <Stack align="flex-start">
        <Intro>{t("users.apiKeys.text")}</Intro>
        <PanelTable
          rows={keys}
          columns={[
            { title: t("common.name"), cell: ({ id, name }) => <RecordLink to={`/api-keys/${id}`}>{name}</RecordLink> },
            {
              title: t("apiKeys.fields.lastUsed"),
              isBelow: true,
              cell: ({ lastUsedAt }) => <RelativeTime at={lastUsedAt} />,
            },
          ]}
        />
        {canWrite && (
          <ReviewedButton
            label={t("users.apiKeys.revoke", { count: keys.length })}
            title={t("users.apiKeys.revokeTitle", { name: user.email ?? user.id })}
            note={t("users.apiKeys.revokeNote")}
            changes={[{ method: "DELETE", path: `/tenants/users/${user.id}/api-keys` }]}
            etag={etag}
            doneMessage={t("users.apiKeys.revoked")}
            size="xs"
            danger
          />
        )}
      </Stack>
    </Panel>
  );
}
