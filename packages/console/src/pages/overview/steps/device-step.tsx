/** Invites people, and creates the enrolment link with which a person signs in to add a device. */
import type { ResultOf } from "@gatehouse/client/calls";
import { Button, Group, Loader, Paper, Stack, Text } from "@mantine/core";
import { useId, useState } from "react";
import { api } from "../../../app/api.ts";
import { useSession } from "../../../app/session.ts";
import { t } from "../../../messages/i18n.ts";
import { GuideLink } from "../../../records/guide-link.tsx";
import { RecordSelect } from "../../../records/record-select.tsx";
import { useAction } from "../../../records/use-record.ts";
import { InviteForm } from "../../users/invite-users.tsx";
import { LinkDetails } from "../../users/new-enrolment-link.tsx";

const path = "/tenants/users/{id}/enrolment-links";

export function DeviceStep() {
  const { user } = useSession();
  const [person, setPerson] = useState(user?.id ?? "");
  const [link, setLink] = useState<ResultOf<typeof path, "post">>();
  const [isInviting, setInviting] = useState(false);
  const form = useId();
  const create = useAction({
    run: async () => setLink(await api.post(path, { path: { id: person }, body: {} })),
    done: t("enrolmentLinks.createdDone"),
  });
  return (
    <Stack gap="md">
      <div>
        <Button
          variant="default"
          aria-expanded={isInviting}
          aria-controls={form}
          onClick={() => setInviting(!isInviting)}
        >
          {t("users.invite.title")}
        </Button>
        <div id={form}>
          {isInviting && (
            <Paper withBorder p="md" mt="sm">
              <InviteForm close={() => setInviting(false)} />
            </Paper>
          )}
        </div>
      </div>
      {link === undefined ? (
        <Group align="flex-end" gap="sm">
          <RecordSelect
            path="/tenants/users"
            label={t("overview.firstSteps.device.person")}
            value={person}
            onChange={setPerson}
          />
          <Button disabled={person === ""} loading={create.isPending} onClick={() => create.mutate()}>
            {t("overview.firstSteps.device.createLink")}
          </Button>
        </Group>
      ) : (
        <Paper withBorder p="md">
          <LinkDetails name="" link={link} close={() => setLink(undefined)} />
        </Paper>
      )}
      <Group gap={8}>
        <Loader size={14} aria-hidden />
        <Text size="sm">{t("overview.firstSteps.device.waiting")}</Text>
        <Text size="sm" component="span">
          <GuideLink to="device#enrol" />
        </Text>
      </Group>
    </Stack>
  );
}
