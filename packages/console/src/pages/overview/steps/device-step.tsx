/** Invites people, and creates the enrolment link with which a person signs in to add a device. */
import { Button, Group, Loader, Paper, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useId, useState } from "react";
import { useSession } from "../../../app/session.ts";
import { t } from "../../../messages/i18n.ts";
import { LinkForPerson } from "../../../records/link-for-person.tsx";
import { InviteForm } from "../../users/invite-users.tsx";

/** A ref that is stable, so that the form takes the focus only when it opens. */
function focusForm(form: HTMLElement | null): void {
  form?.querySelector("textarea")?.focus();
}

export function DeviceStep() {
  const [isInviting, setInviting] = useState(false);
  const form = useId();
  const { user } = useSession();
  return (
    <Stack gap="md">
      <div>
        <Text size="sm" mb="xs">
          {t("overview.firstSteps.device.new")}
        </Text>
        <Button
          className="phone-wide"
          variant={isInviting ? "default" : "filled"}
          aria-expanded={isInviting}
          aria-controls={form}
          onClick={() => setInviting(!isInviting)}
        >
          {t("users.invite.title")}
        </Button>
        <div id={form}>
          {isInviting && (
            <Paper withBorder p="md" mt="sm" ref={focusForm}>
              <InviteForm close={() => setInviting(false)} />
            </Paper>
          )}
        </div>
      </div>
      {user !== undefined && (
        <div>
          <Text size="sm" mb="xs">
            {t("overview.firstSteps.device.own")}
          </Text>
          {/* On its own page, because the first device completes the step, which would close the dialog. */}
          <Button component={Link} to="/my" search={{ add: "1" } as never} variant="default" className="phone-wide">
            {t("overview.firstSteps.device.addOwn")}
          </Button>
        </div>
      )}
      <div>
        <Text size="sm" mb="xs">
          {t("overview.firstSteps.device.existing")}
        </Text>
        <LinkForPerson />
      </div>
      <Group gap={8}>
        <Loader size={16} aria-hidden />
        <Text size="sm">{t("overview.firstSteps.device.waiting")}</Text>
      </Group>
    </Stack>
  );
}
