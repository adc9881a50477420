/** The page that an enrolment link opens: registers the person's first passkey and signs the person in. */
import { Button, Center, Paper, Stack, Text, TextInput, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { t } from "../messages/i18n.ts";
import { DemoNotice } from "./demo.tsx";
import iconUrl from "./icon.svg";
import { PasskeyNotice, usePasskeysWork } from "./passkey-notice.tsx";
import { enrol, readEnrolment, suggestedName } from "./passkeys.ts";
import { ProblemNotice } from "./problem-notice.tsx";

export function EnrolPage() {
  // The token is in the fragment, which browsers send to no server.
  const [token, setToken] = useState(() => globalThis.location.hash.slice(1));
  return token === "" ? <CodePage enter={setToken} /> : <LinkPage token={token} change={() => setToken("")} />;
}

/** Asks for the code, where a person has no link. */
function CodePage({ enter }: { readonly enter: (code: string) => void }) {
  const [code, setCode] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    enter(code.trim());
  };
  return (
    <Frame>
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label={t("signIn.enrol.code")}
            description={t("signIn.enrol.codeText")}
            placeholder="XXXX-XXXX-XXXX"
            value={code}
            onChange={(event) => setCode(event.currentTarget.value)}
            autoComplete="off"
            autoCapitalize="characters"
            maxLength={40}
            required
            data-autofocus
          />
          <Button type="submit" disabled={code.trim() === ""}>
            {t("signIn.enrol.next")}
          </Button>
        </Stack>
      </form>
    </Frame>
  );
}

interface LinkPageProps {
  /** The token of a link, or a code. */
  readonly token: string;
  /** Lets the person enter another code. */
  readonly change: () => void;
}

function LinkPage({ token, change }: LinkPageProps) {
  const usable = usePasskeysWork();
  const person = useQuery({ queryKey: ["enrolment", token], queryFn: () => readEnrolment(token), retry: false });
  return (
    <Frame>
      {person.error !== null && (
        <>
          <ProblemNotice error={person.error} />
          <Button variant="default" onClick={change}>
            {t("signIn.enrol.enterCode")}
          </Button>
        </>
      )}
      {person.data !== undefined && (
        <>
          <Text>{t("signIn.enrol.text", { email: person.data.email, tenant: person.data.tenantName })}</Text>
          <PasskeyNotice />
          {usable && <EnrolForm token={token} />}
        </>
      )}
    </Frame>
  );
}

function Frame({ children }: { readonly children: ReactNode }) {
  return (
    <Center mih="100vh" p="md" component="main">
      <Paper withBorder shadow="sm" p="xl" w="100%" maw={440}>
        <Stack>
          <DemoNotice />
          <img src={iconUrl} alt="" width={48} height={48} />
          <Title order={1}>{t("signIn.enrol.title")}</Title>
          {children}
        </Stack>
      </Paper>
    </Center>
  );
}

function EnrolForm({ token }: { readonly token: string }) {
  const [name, setName] = useState(suggestedName);
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      await enrol(token, name.trim());
      globalThis.location.assign("/console/");
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Stack>
        <TextInput
          label={t("signIn.passkeys.name")}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          maxLength={100}
          required
        />
        {error !== undefined && <ProblemNotice error={error} />}
        <Button type="submit" loading={busy} disabled={name.trim() === ""}>
          {t("signIn.enrol.register")}
        </Button>
      </Stack>
    </form>
  );
}
