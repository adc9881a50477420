/** Asks a person to confirm a dangerous operation. The page keeps its input. */
import { Anchor, Button, Code, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Fingerprint } from "lucide-react";
import { type FormEvent, useEffect, useState, useSyncExternalStore } from "react";
import { t } from "../messages/i18n.ts";
import { CopyText } from "./copy.tsx";
import { confirmIdentity, type RecoveredSession, signInWithRecoveryCode } from "./passkeys.ts";
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
  const [recovers, setRecovers] = useState(false);
  const providerPath = confirmationPath(session);
  useConfirmationElsewhere(atProvider, session?.authenticatedAt);
  const confirm = async () => {
    setBusy(true);
    setError(undefined);
    try {
      await confirmIdentity();
      endConfirmation(true);
    } catch (problem) {
      setError(isRefusedByBrowser(problem) ? new Error(t("signIn.stepUp.noPasskey")) : problem);
    } finally {
      setBusy(false);
    }
  };
  if (recovers) return <Recovery personId={session?.user?.id} back={() => setRecovers(false)} />;
  return (
    <Stack>
      <Text size="sm" c="dimmed">
        {t("signIn.stepUp.text")}
      </Text>
      {atProvider && <Text c="dimmed">{t("signIn.stepUp.providerText")}</Text>}
      {error !== undefined && <ProblemNotice error={error} />}
      <Anchor component="button" type="button" style={{ alignSelf: "start" }} onClick={() => setRecovers(true)}>
        {t("signIn.page.recovery")}
      </Anchor>
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

/** Whether the person cancelled, or has no passkey here. Browsers do not distinguish the two. */
function isRefusedByBrowser(problem: unknown): boolean {
  return problem instanceof DOMException && problem.name === "NotAllowedError";
}

interface RecoveryProps {
  /** The person who confirms. */
  readonly personId: string | undefined;
  readonly back: () => void;
}

/** Confirms with a recovery code: signs in again, and shows the code that replaces it. */
function Recovery({ personId, back }: RecoveryProps) {
  const queryClient = useQueryClient();
  const [code, setCode] = useState("");
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const [recovered, setRecovered] = useState<RecoveredSession>();
  if (recovered !== undefined) {
    const finish = () => {
      // Somebody else's code signs in that person.
      if (recovered.user?.id !== personId) return globalThis.location.reload();
      const { recoveryCode: _shown, ...session } = recovered;
      queryClient.setQueryData(sessionQuery.queryKey, session);
      endConfirmation(true);
    };
    return (
      <Stack>
        <Text fw={600}>{t("signIn.page.recoveryNext")}</Text>
        <Text size="sm" c="dimmed">
          {t("signIn.account.recoveryText")}
        </Text>
        <Code block>{recovered.recoveryCode}</Code>
        <Group justify="flex-end">
          <CopyText text={recovered.recoveryCode} variant="default">
            {t("signIn.stepUp.copyCode")}
          </CopyText>
          <Button onClick={finish}>{t("signIn.page.saved")}</Button>
        </Group>
      </Stack>
    );
  }
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      setRecovered(await signInWithRecoveryCode(code));
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Stack>
        <TextInput
          label={t("signIn.page.recoveryCode")}
          description={t("signIn.stepUp.recoveryHelp")}
          value={code}
          onChange={({ currentTarget }) => setCode(currentTarget.value)}
          autoComplete="off"
          maxLength={100}
          required
          data-autofocus
        />
        {error !== undefined && <ProblemNotice error={error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={back}>
            {t("records.form.back")}
          </Button>
          <Button type="submit" loading={busy} disabled={code.trim() === ""}>
            {t("signIn.stepUp.confirmWithCode")}
          </Button>
        </Group>
      </Stack>
    </form>
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
