/** A secret that is shown once. Only the button closes the dialog, so that a stray click does not lose the secret. */
import { Button, Code, Group, Stack } from "@mantine/core";
import type { ReactNode } from "react";
import { CopyText } from "../app/copy.tsx";
import { Warning } from "../app/warning.tsx";
import { t } from "../messages/i18n.ts";
import { Dialog } from "./dialog.tsx";
import { Intro } from "./intro.tsx";

interface SecretOnceProps {
  readonly title: string;
  readonly secret: string;
  /** The label of the button that copies the secret. */
  readonly copyLabel?: string;
  /** The purpose of the secret. */
  readonly children: ReactNode;
  readonly close: () => void;
}

export function SecretOnce({ title, secret, copyLabel = t("records.secret.copy"), children, close }: SecretOnceProps) {
  return (
    <Dialog onClose={() => undefined} title={title} closable={false}>
      <Stack>
        <Intro>{children}</Intro>
        <Code block aria-label={t("records.secret.label")} className="secret">
          {secret}
        </Code>
        <Warning>{t("records.secret.warning")}</Warning>
        <Group justify="flex-end" className="form-actions">
          <Button variant="default" onClick={close}>
            {t("records.secret.saved")}
          </Button>
          <CopyText text={secret} data-autofocus>
            {copyLabel}
          </CopyText>
        </Group>
      </Stack>
    </Dialog>
  );
}
