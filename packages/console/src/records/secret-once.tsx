/** A secret that is shown once. Only the button closes the dialog, so that a stray click does not lose the secret. */
import { Alert, Button, Code, Group, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { CopyText } from "../app/copy.tsx";
import { t } from "../messages/i18n.ts";
import { Dialog } from "./dialog.tsx";

interface SecretOnceProps {
  readonly title: string;
  readonly secret: string;
  /** The purpose of the secret. */
  readonly children: ReactNode;
  readonly close: () => void;
}

export function SecretOnce({ title, secret, children, close }: SecretOnceProps) {
  return (
    <Dialog onClose={() => undefined} title={title} closable={false}>
      <Stack>
        <Text component="div">{children}</Text>
        <Code block aria-label={t("records.secret.label")} className="secret">
          {secret}
        </Code>
        <Alert color="yellow" variant="outline">
          {t("records.secret.warning")}
        </Alert>
        <Group justify="flex-end">
          <CopyText text={secret} variant="default" data-autofocus>
            {t("records.secret.copy")}
          </CopyText>
          <Button onClick={close}>{t("records.secret.saved")}</Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
