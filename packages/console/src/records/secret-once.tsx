/** A secret that is shown this once: the dialog is left by a button alone, so that no stray click loses it. */
import { Alert, Button, Code, CopyButton, Group, Modal, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";

interface SecretOnceProps {
  readonly title: string;
  readonly secret: string;
  /** What it is for. */
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
        <Code block aria-label="Secret" className="secret">
          {secret}
        </Code>
        <Alert color="yellow" variant="outline">
          It is shown this once. Gatehouse cannot show it again: keep it where secrets are kept.
        </Alert>
        <Group justify="flex-end">
          <CopyButton value={secret}>
            {({ copied, copy }) => (
              <Button variant="default" onClick={copy} data-autofocus>
                {copied ? "Copied" : "Copy the secret"}
              </Button>
            )}
          </CopyButton>
          <Button onClick={close}>I have kept it</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
