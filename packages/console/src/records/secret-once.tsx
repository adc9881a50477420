/** A secret that is shown once. Only the button closes the dialog, so that a stray click does not lose the secret. */
import { Alert, Button, Code, CopyButton, Group, Modal, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { t } from "../messages/i18n.ts";

interface SecretOnceProps {
  readonly title: string;
  readonly secret: string;
  /** The purpose of the secret. */
  readonly children: ReactNode;
  readonly close: () => void;
}

export function SecretOnce({ title, secret, children, close }: SecretOnceProps) {
  return (
    <Modal
      opened
      onClose={() => undefined}
      title={title}
      size="lg"
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      <Stack>
        <Text component="div">{children}</Text>
        <Code block aria-label={t("records.secret.label")} className="secret">
          {secret}
        </Code>
        <Alert color="yellow" variant="outline">
          {t("records.secret.warning")}
        </Alert>
        <Group justify="flex-end">
          <CopyButton value={secret}>
            {({ copied, copy }) => (
              <Button variant="default" onClick={copy} data-autofocus>
                {copied ? t("common.copied") : t("records.secret.copy")}
              </Button>
            )}
          </CopyButton>
          <Button onClick={close}>{t("records.secret.saved")}</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
