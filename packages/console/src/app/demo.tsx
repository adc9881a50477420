/** Demo mode: signing in as example people, and the mark on every page. */
import { Alert, Button, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { t } from "../messages/i18n.ts";
import { signInPlaceQuery } from "./passkey-notice.tsx";
import { signInAsDemoPerson } from "./passkeys.ts";
import { ProblemNotice } from "./problem-notice.tsx";
import type { Session } from "./session-requests.ts";

/** Says on every page that this is a demo. */
export function DemoNotice() {
  const { data } = useQuery(signInPlaceQuery);
  if (data?.demo === undefined) return null;
  return (
    <Alert color="orange" variant="light" mb="md" py="xs">
      <Text span inherit fw={600}>
        {t("signIn.demo.title")}
      </Text>{" "}
      {t("signIn.demo.text")}
    </Alert>
  );
}

/** Offers the example people. */
export function DemoPeople({ done }: { readonly done: (session: Session) => void }) {
  const { data } = useQuery(signInPlaceQuery);
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState<string>();
  if (data?.demo === undefined) return null;
  const signIn = async (id: string) => {
    setBusy(id);
    setError(undefined);
    try {
      done(await signInAsDemoPerson(id));
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(undefined);
    }
  };
  return (
    <Stack gap="xs">
      <Text size="sm">{t("signIn.demo.signInAs")}</Text>
      {data.demo.people.map(({ id, email, title }) => (
        <Button key={id} variant="default" loading={busy === id} onClick={() => void signIn(id)}>
          {title === "" ? email : t("signIn.demo.person", { email, title })}
        </Button>
      ))}
      {error !== undefined && <ProblemNotice error={error} />}
    </Stack>
  );
}
