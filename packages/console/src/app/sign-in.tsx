/** The sign-in form, as a page and as a dialog over a page whose session has ended. */
import { Alert, Button, Center, Modal, Paper, PasswordInput, Stack, Text, Title } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState, useSyncExternalStore } from "react";
import { t } from "../messages/i18n.ts";
import iconUrl from "./icon.svg";
import { ProblemNotice } from "./problem-notice.tsx";
import { type Session, sessionQuery, signIn } from "./session.ts";
import { resumeRequests, sessionEnd } from "./session-end.ts";

export function SignInPage() {
  const queryClient = useQueryClient();
  return (
    <Center mih="100vh" p="md" component="main">
      <Paper withBorder shadow="sm" p="xl" w="100%" maw={440}>
        <Stack>
          <img src={iconUrl} alt="" width={48} height={48} />
          <div>
            <Title order={1}>{t("app.session.title")}</Title>
            <Text c="dimmed" size="sm" mt={4}>
              {t("app.session.text")}
            </Text>
          </div>
          <SignInForm done={(session) => queryClient.setQueryData(sessionQuery.queryKey, session)} />
        </Stack>
      </Paper>
    </Center>
  );
}

/** Covers the page, which keeps its input. Requests that were refused are sent again after signing in. */
export function SessionEndDialog({ session: previous }: { readonly session: Session }) {
  const opened = useSyncExternalStore(sessionEnd.subscribe, sessionEnd.hasEnded);
  const queryClient = useQueryClient();
  const done = (session: Session) => {
    if (session.tenant.id !== previous.tenant.id) {
      // The page shows another tenant's data.
      globalThis.location.assign("/console/");
      return;
    }
    queryClient.setQueryData(sessionQuery.queryKey, session);
    resumeRequests();
  };
  return (
    <Modal
      opened={opened}
      onClose={() => undefined}
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
      centered
      zIndex={500}
      title={t("app.session.ended")}
    >
      <Stack>
        <Alert color="blue" variant="outline">
          {t("app.session.endedText", { tenant: previous.tenant.name })}
        </Alert>
        {opened && <SignInForm done={done} />}
      </Stack>
    </Modal>
  );
}

function SignInForm({ done }: { readonly done: (session: Session) => void }) {
  const [apiKey, setApiKey] = useState("");
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      done(await signIn(apiKey.trim()));
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Stack>
        <PasswordInput
          label={t("app.session.apiKey")}
          placeholder="gatehouse_key_…"
          value={apiKey}
          onChange={(event) => setApiKey(event.currentTarget.value)}
          autoComplete="off"
          data-autofocus
          required
          maxLength={200}
          visibilityToggleButtonProps={{ "aria-label": t("app.session.showKey") }}
        />
        {error !== undefined && <ProblemNotice error={error} />}
        <Button type="submit" loading={busy} disabled={apiKey.trim() === ""}>
          {t("app.session.signIn")}
        </Button>
      </Stack>
    </form>
  );
}
