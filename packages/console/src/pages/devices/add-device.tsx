/** How to add a device: its user does that on `/my/` or with the agent, and may need an enrolment link first. */
import { Button, Group, Stack } from "@mantine/core";
import { useState } from "react";
import { CopyText } from "../../app/copy.tsx";
import { useInstallation } from "../../app/installation.ts";
import { t } from "../../messages/i18n.ts";
import { Dialog } from "../../records/dialog.tsx";
import { GuideLink } from "../../records/guide-link.tsx";
import { Intro } from "../../records/intro.tsx";
import { LinkForPerson } from "../../records/link-for-person.tsx";

export function AddDevice({ close }: { readonly close: () => void }) {
  const installation = useInstallation();
  const page = `${installation?.publicUrl ?? globalThis.location.origin}/console/my`;
  // Only the button of the link closes it, because the link is shown once.
  const [showsLink, setShowsLink] = useState(false);
  return (
    <Dialog title={t("devices.add.label")} onClose={close} closable={!showsLink}>
      <Stack>
        <Intro>
          {t("devices.add.text")} <GuideLink to="device#enrol" />
        </Intro>
        <CopyText text={page} className="phone-wide" style={{ alignSelf: "flex-start" }} data-autofocus>
          {t("devices.add.copyPage")}
        </CopyText>
        <Intro>{t("devices.add.link")}</Intro>
        <LinkForPerson onLink={setShowsLink} />
        {!showsLink && (
          <Group justify="flex-end" className="form-actions">
            <Button variant="default" onClick={close}>
              {t("common.close")}
            </Button>
          </Group>
        )}
      </Stack>
    </Dialog>
  );
}
