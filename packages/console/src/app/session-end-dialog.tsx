/** The sign-in form as a dialog over a page whose session has ended. */
import { Alert, Button, Divider, Modal, PasswordInput, Stack } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { Fingerprint } from "lucide-react";
import { type FormEvent, useState, useSyncExternalStore } from "react";
import { t } from "../messages/i18n.ts";
import { DemoPeople } from "./demo.tsx";
import { PasskeyNotice, usePasskeysWork } from "./passkey-notice.tsx";
import { signInWithPasskey } from "./passkeys.ts";
import { ProblemNotice } from "./problem-notice.tsx";
import { sessionQuery } from "./session.ts";
import { resumeRequests, sessionEnd } from "./session-end.ts";
import { type Session, signIn } from "./session-requests.ts";

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

interface SignInFormProps {
  readonly done: (session: Session) => void;
}

function SignInForm({ done }: SignInFormProps) {
  const usable = usePasskeysWork();
  return (
    <Stack>
      {usable && <PasskeyButton done={done} />}
      <PasskeyNotice />
      <DemoPeople done={done} />
      {usable && <Divider label={t("signIn.page.or")} />}
      <ApiKeyForm done={done} />
    </Stack>
  );
}

function PasskeyButton({ done }: Pick<SignInFormProps, "done">) {
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const signInNow = async () => {
    setBusy(true);
    setError(undefined);
    try {
      done(await signInWithPasskey());
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <Button leftSection={<Fingerprint size={16} aria-hidden />} loading={busy} onClick={() => void signInNow()}>
        {t("signIn.page.passkey")}
      </Button>
      {error !== undefined && <ProblemNotice error={error} />}
    </>
  );
}

function ApiKeyForm({ done }: { readonly done: (session: Session) => void }) {
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
