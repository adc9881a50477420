/** Signing in: as a page, and as a dialog over a page whose session has ended. */
import { Alert, Button, Center, Modal, Paper, PasswordInput, Stack, Text, Title } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState, useSyncExternalStore } from "react";
import iconUrl from "./icon.svg";
import { ProblemNotice } from "./problem-notice.tsx";
import { type Session, sessionQuery, signIn, useSession } from "./session.ts";
import { goOn, sessionEnd } from "./session-end.ts";

export function SignInPage() {
  const queryClient = useQueryClient();
  return (
    <Center mih="100vh" p="md" component="main">
      <Paper withBorder shadow="sm" p="xl" w="100%" maw={440}>
        <Stack>
          <img src={iconUrl} alt="" width={48} height={48} />
          <div>
            <Title order={1}>Sign in to Gatehouse</Title>
            <Text c="dimmed" size="sm" mt={4}>
              With an API key of your tenant. You may do here what the key may do.
            </Text>
          </div>
          <SignInForm done={(session) => queryClient.setQueryData(sessionQuery.queryKey, session)} />
        </Stack>
      </Paper>
    </Center>
  );
}

/** Lies over the page, which keeps what was typed into it; calls that were refused are made again afterwards. */
export function SessionEndDialog() {
  const opened = useSyncExternalStore(sessionEnd.subscribe, sessionEnd.hasEnded);
  const queryClient = useQueryClient();
  const before = useSession();
  const done = (session: Session) => {
    if (session.tenant.id !== before.tenant.id) {
      // What the page shows, and was about to change, is another tenant's.
      globalThis.location.assign("/console/");
      return;
    }
    queryClient.setQueryData(sessionQuery.queryKey, session);
    goOn();
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
      title="Your session has ended"
    >
      <Stack>
        <Alert color="blue" variant="outline">
          Sign in again to go on with {before.tenant.name}. What you typed is still there, and what was under way goes
          on by itself.
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
          label="API key"
          placeholder="gatehouse_key_…"
          value={apiKey}
          onChange={(event) => setApiKey(event.currentTarget.value)}
          autoComplete="off"
          data-autofocus
          required
          maxLength={200}
          visibilityToggleButtonProps={{ "aria-label": "Show the key" }}
        />
        {error !== undefined && <ProblemNotice error={error} />}
        <Button type="submit" loading={busy} disabled={apiKey.trim() === ""}>
          Sign in
        </Button>
      </Stack>
    </form>
  );
}
