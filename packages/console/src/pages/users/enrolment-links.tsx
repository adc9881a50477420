/** The enrolment links of a user. */
import type { ResultOf } from "@gatehouse/client/calls";
import { Button, Group, Stack, Table, VisuallyHidden } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../app/api.ts";
import { useInstallation } from "../../app/installation.ts";
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { EmptyState } from "../../records/empty-list.tsx";
import { NewLink } from "../../records/new-enrolment-link.tsx";
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
    done: t("enrolmentLinks.createdDone"),
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
          <Table className="record-table">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{t("common.created")}</Table.Th>
                <Table.Th>{t("enrolmentLinks.state")}</Table.Th>
                <Table.Th visibleFrom="sm">{t("enrolmentLinks.mail")}</Table.Th>
                <Table.Th>
                  <VisuallyHidden>{t("common.actions")}</VisuallyHidden>
                </Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {links.map((link) => (
                <Table.Tr key={link.id}>
                  <Table.Td>
                    <RelativeTime at={link.createdAt} />
                  </Table.Td>
                  <Table.Td>
                    {link.usedAt !== undefined ? t("enrolmentLinks.used") : <RelativeTime at={link.expiresAt} />}
                  </Table.Td>
                  <Table.Td visibleFrom="sm">{link.mail && <MailState mail={link.mail} />}</Table.Td>
                  <Table.Td ta="right">
                    {canWrite && link.usedAt === undefined && (
                      <Button size="xs" variant="default" onClick={() => revoke.mutate(link.id)}>
                        {t("enrolmentLinks.revoke")}
                      </Button>
                    )}
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
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
