/** The ways to sign in as a dialog over a page whose session has ended. */
import { Alert, Modal, Stack, Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
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
      {opened && <SignInAgain previous={session} />}
    </Modal>
  );
}

function SignInAgain({ previous }: { readonly previous: Session }) {
  const queryClient = useQueryClient();
  const [atProvider, setAtProvider] = useState(false);
  const done = (session: Session) => {
    if (session.tenant.id !== previous.tenant.id) {
      // The page shows another tenant's data.
      globalThis.location.assign("/console/");
      return;
    }
    queryClient.setQueryData(sessionQuery.queryKey, session);
    resumeRequests();
  };
  useSignInElsewhere(atProvider, done);
  const { providerPath, user, tenant } = previous;
  return (
    <Stack>
      <Alert color="blue" variant="outline">
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
          }}
        />
      </div>
    </Stack>
  );
}

/** Continues when the browser has a session again: from the provider's tab, or from any other tab. */
function useSignInElsewhere(isAwaited: boolean, done: (session: Session) => void): void {
  const latest = useRef(done);
  latest.current = done;
  useEffect(() => {
    let stopped = false;
    const check = async () => {
      // Without an answer, the next check finds the session.
      const session = await readSession().catch(() => undefined);
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
  }, [isAwaited]);
}
