/** The ways to sign in as a dialog over a page whose session has ended. */
import { Alert, Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { Info } from "lucide-react";
import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import { t } from "../messages/i18n.ts";
import { SignInWays } from "./entrance/sign-in-ways.tsx";
import { sessionQuery } from "./session.ts";
import { resumeRequests, sessionEnd } from "./session-end.ts";
import { readSession, type Session } from "./session-requests.ts";

/** How often the dialog checks whether the person has signed in in another tab, in milliseconds. */
const pollMs = 1_500;

interface SessionEndDialogProps {
  /** The session that ended. */
  readonly session: Session;
}

/** Covers the page, which keeps its input. Requests that were refused are sent again after signing in. */
export function SessionEndDialog({ session }: SessionEndDialogProps) {
  const opened = useSyncExternalStore(sessionEnd.subscribe, sessionEnd.hasEnded);
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
      {opened && <SignInAgain session={session} />}
    </Modal>
  );
}

function SignInAgain({ session }: SessionEndDialogProps) {
  const queryClient = useQueryClient();
  // The session of the page changes as soon as a query reads the next one.
  const [previous] = useState(session);
  const [atProvider, setAtProvider] = useState(false);
  const [isRecovering, setRecovering] = useState(false);
  const [other, setOther] = useState<Session>();
  const resume = (next: Session) => {
    queryClient.setQueryData(sessionQuery.queryKey, next);
    resumeRequests();
  };
  const done = (next: Session) => (isSamePrincipal(next, previous) ? resume(next) : setOther(next));
  useSignInElsewhere({ isAwaited: atProvider, isPaused: isRecovering && other === undefined }, done);
  if (other !== undefined) {
    const resumeAsOther = () => {
      resume(other);
      // The page shows data that the previous person or key has read.
      void queryClient.invalidateQueries();
    };
    return <OtherPrincipal session={other} previous={previous} resume={resumeAsOther} />;
  }
  const { providerPath, user, tenant } = previous;
  return (
    <Stack>
      <Alert color="blue" icon={<Info aria-hidden />}>
        {t("app.session.endedText", { tenant: tenant.name })}
      </Alert>
      {atProvider && (
        <Text c="dimmed" role="status">
          {t("app.session.providerTab")}
        </Text>
      )}
      <div className="entrance entrance-inside">
        <SignInWays
          done={done}
          tab={{
            organisation: user?.email ?? "",
            provider: providerPath === undefined ? undefined : { name: tenant.name, path: providerPath },
            opened: () => setAtProvider(true),
            recovering: setRecovering,
          }}
        />
      </div>
    </Stack>
  );
}

/** Whether two sessions are of the same person, or represent the same API key. */
function isSamePrincipal(one: Session, other: Session): boolean {
  return one.tenant.id === other.tenant.id && one.user?.id === other.user?.id && one.apiKey?.id === other.apiKey?.id;
}

interface OtherPrincipalProps {
  readonly session: Session;
  readonly previous: Session;
  readonly resume: () => void;
}

/** Asks before requests of the previous session are sent as another person or key. */
function OtherPrincipal({ session, previous, resume }: OtherPrincipalProps) {
  const notice = useRef<HTMLDivElement>(null);
  // The ways to sign in, which had the focus, are gone.
  useEffect(() => notice.current?.focus(), []);
  const isSameTenant = session.tenant.id === previous.tenant.id;
  return (
    <Stack>
      <Alert color="yellow" role="alert" ref={notice} tabIndex={-1}>
        {t("app.session.other", { name: session.user?.email ?? session.apiKey?.name ?? "" })}
        {!isSameTenant && ` ${t("app.session.otherTenant", { tenant: previous.tenant.name })}`}
      </Alert>
      <Group justify="flex-end">
        <Button variant="default" onClick={() => globalThis.location.assign("/console/")}>
          {t("app.session.discard")}
        </Button>
        {isSameTenant && <Button onClick={resume}>{t("app.session.continue")}</Button>}
      </Group>
    </Stack>
  );
}

interface SignInElsewhere {
  /** The person left for a provider. */
  readonly isAwaited: boolean;
  /** The dialog must stay. */
  readonly isPaused: boolean;
}

/** Continues when the browser has a session again: from the provider's tab, or from any other tab. */
function useSignInElsewhere({ isAwaited, isPaused }: SignInElsewhere, done: (session: Session) => void): void {
  const latest = useRef(done);
  latest.current = done;
  useEffect(() => {
    if (isPaused) return;
    let stopped = false;
    let isChecking = false;
    const check = async () => {
      if (isChecking) return;
      isChecking = true;
      // Without an answer, the next check finds the session.
      const session = await readSession().catch(() => undefined);
      isChecking = false;
      if (!stopped && session) latest.current(session);
    };
    const onReturn = () => void check();
    globalThis.addEventListener("focus", onReturn);
    const timer = isAwaited ? setInterval(onReturn, pollMs) : undefined;
    return () => {
      stopped = true;
      clearInterval(timer);
      globalThis.removeEventListener("focus", onReturn);
    };
  }, [isAwaited, isPaused]);
}
