/** Asks a person to confirm a dangerous operation. The page keeps its input. */
import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Fingerprint } from "lucide-react";
import { useEffect, useState, useSyncExternalStore } from "react";
import { t } from "../messages/i18n.ts";
import { confirmIdentity } from "./passkeys.ts";
import { ProblemNotice } from "./problem-notice.tsx";
import { confirmationPath } from "./providers.ts";
import { sessionQuery } from "./session.ts";
import { readSession } from "./session-requests.ts";
import { endConfirmation, stepUp } from "./step-up.ts";

/** How often the dialog looks whether the person has confirmed in another tab, in milliseconds. */
const pollMs = 1_500;

export function StepUpDialog() {
  const opened = useSyncExternalStore(stepUp.subscribe, stepUp.isWaiting);
  return (
    <Modal
      opened={opened}
      onClose={() => endConfirmation(false)}
      closeOnClickOutside={false}
      withCloseButton={false}
      centered
      zIndex={400}
      title={t("signIn.stepUp.title")}
    >
      {opened && <Confirmation />}
    </Modal>
  );
}

function Confirmation() {
  const { data: session } = useQuery(sessionQuery);
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const [atProvider, setAtProvider] = useState(false);
  const providerPath = confirmationPath(session);
  useConfirmationElsewhere(atProvider, session?.authenticatedAt);
  const confirm = async () => {
    setBusy(true);
    setError(undefined);
    try {
      await confirmIdentity();
      endConfirmation(true);
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Stack>
      <Text>{t("signIn.stepUp.text")}</Text>
      {atProvider && <Text c="dimmed">{t("signIn.stepUp.providerText")}</Text>}
      {error !== undefined && <ProblemNotice error={error} />}
      <Group justify="flex-end">
        <Button variant="default" onClick={() => endConfirmation(false)}>
          {t("common.cancel")}
        </Button>
        {providerPath !== undefined && (
          <Button
            component="a"
            href={providerPath}
            target="_blank"
            rel="noopener"
            variant="default"
            onClick={() => setAtProvider(true)}
          >
            {t("signIn.stepUp.provider")}
          </Button>
        )}
        <Button
          leftSection={<Fingerprint size={16} aria-hidden />}
          loading={busy}
          onClick={() => void confirm()}
          data-autofocus
        >
          {t("signIn.stepUp.confirm")}
        </Button>
      </Group>
    </Stack>
  );
}

/** Ends the wait once the session has a later authentication. */
function useConfirmationElsewhere(isAwaited: boolean, before: string | undefined): void {
  const queryClient = useQueryClient();
  useEffect(() => {
    if (!isAwaited) return;
    let stopped = false;
    const poll = async () => {
      // Without an answer, the next poll finds the confirmation.
      const session = await readSession().catch(() => undefined);
      if (stopped || !session || session.authenticatedAt === before) return;
      queryClient.setQueryData(sessionQuery.queryKey, session);
      endConfirmation(true);
    };
    const timer = setInterval(() => void poll(), pollMs);
    return () => {
      stopped = true;
      clearInterval(timer);
    };
  }, [isAwaited, before, queryClient]);
}
