/** The enrolment links of a user. */
import type { ResultOf } from "@gatehouse/client/calls";
import { Button, Group, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../app/api.ts";
import { useInstallation } from "../../app/installation.ts";
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { EmptyState } from "../../records/empty-list.tsx";
import { NewLink } from "../../records/new-enrolment-link.tsx";
import { PanelTable } from "../../records/panel-table.tsx";
import { Panel } from "../../records/record-page.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { useAction } from "../../records/use-record.ts";
import { MailState } from "./mail-state.tsx";
import { NoMail } from "./no-mail.tsx";
import type { User } from "./user-fields.tsx";

const path = "/tenants/users/{id}/enrolment-links";

export function EnrolmentLinks({ user }: { readonly user: User }) {
  const { id } = user;
  const canWrite = usePermission("users:write");
  const installation = useInstallation();
  const [created, setCreated] = useState<ResultOf<"/tenants/users/{id}/enrolment-links", "post">>();
  const { data: links = [] } = useQuery({ queryKey: [path, id], queryFn: () => api.get(path, { path: { id } }) });
  const create = useAction<boolean>({
    run: async (notify) => setCreated(await api.post(path, { path: { id }, body: { notify } })),
  });
  const canCreate = canWrite && user.status !== "inactive";
  const createLabel = t("enrolmentLinks.create");
  const revoke = useAction<string>({
    run: (linkId) => api.delete("/tenants/users/{id}/enrolment-links/{linkId}", { path: { id, linkId } }),
    done: t("enrolmentLinks.revoked"),
  });
  return (
    <Panel title={t("enrolmentLinks.title")}>
      <Stack align="flex-start">
        {links.length === 0 ? (
          <EmptyState
            isPart
            empty={{
              title: t("enrolmentLinks.empty"),
              text: t("enrolmentLinks.emptyText"),
              action: canCreate
                ? { label: createLabel, run: () => create.mutate(false), permission: "users:write" }
                : undefined,
              // Without mail, the notice below leads to a guide.
              ...(installation?.sendsMail === false ? {} : { guide: "invitations#invite" as const }),
            }}
          />
        ) : (
          <PanelTable
            rows={links}
            columns={[
              { title: t("common.created"), cell: ({ createdAt }) => <RelativeTime at={createdAt} /> },
              {
                title: t("enrolmentLinks.state"),
                isBelow: true,
                cell: ({ usedAt, expiresAt }) =>
                  usedAt === undefined ? <RelativeTime at={expiresAt} /> : t("enrolmentLinks.used"),
              },
              {
                title: t("enrolmentLinks.mail"),
                isBelow: true,
                cell: ({ mail }) => mail && <MailState mail={mail} />,
              },
            ]}
            actions={({ id: linkId, usedAt }) =>
              canWrite &&
              usedAt === undefined && (
                <Button size="xs" variant="default" onClick={() => revoke.mutate(linkId)}>
                  {t("enrolmentLinks.revoke")}
                </Button>
              )
            }
          />
        )}
        {canCreate && (links.length > 0 || installation?.sendsMail === true) && (
          <Group gap="xs">
            {links.length > 0 && (
              <Button size="xs" variant="default" loading={create.isPending} onClick={() => create.mutate(false)}>
                {createLabel}
              </Button>
            )}
            {installation?.sendsMail === true && (
              <Button size="xs" variant="default" loading={create.isPending} onClick={() => create.mutate(true)}>
                {t("enrolmentLinks.createAndSend")}
              </Button>
            )}
          </Group>
        )}
        {canWrite && installation?.sendsMail === false && <NoMail />}
      </Stack>
      {created !== undefined && <NewLink name={user.email ?? id} link={created} close={() => setCreated(undefined)} />}
    </Panel>
  );
}
