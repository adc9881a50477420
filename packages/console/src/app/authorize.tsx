/** The pages on which a person approves a command line: opened by it, or with the code that it shows. */
import { Alert, Button, Center, Code, Group, Paper, Stack, Text, TextInput, Title } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { formatDateTime, formatRelativeTime } from "../messages/format.ts";
import { t } from "../messages/i18n.ts";
import { inSession } from "./api.ts";
import { DemoNotice } from "./demo.tsx";
import iconUrl from "./icon.svg";
import { send } from "./passkeys.ts";
import { ProblemNotice } from "./problem-notice.tsx";
import { sessionQuery, useSession } from "./session.ts";
import { type Session, signOut } from "./session-requests.ts";
import { Warning } from "./warning.tsx";

interface AskingProgram {
  readonly name: string;
  readonly machine: string;
}

interface DeviceRequestInfo extends AskingProgram {
  readonly address: string;
  readonly sameAddress: boolean;
  readonly requestedAt: string;
  readonly expiresAt: string;
  /** Present if approving enrols the machine as a device, or signs the person in on an enrolled device. */
  readonly device?: { readonly os: string; readonly keyFingerprint: string; readonly isEnrolled: boolean };
}

/** The parameters of a program's request. The server ignores others, and so does this page. */
const requestParameters = [
  "response_type",
  "client_id",
  "redirect_uri",
  "state",
  "code_challenge",
  "code_challenge_method",
  "max_age",
  "machine",
];

export function AuthorizePage() {
  const session = useSession();
  const given = new URLSearchParams(globalThis.location.search);
  const request = Object.fromEntries(
    requestParameters.flatMap((name) => {
      const value = given.get(name);
      return value === null ? [] : [[name, value]];
    }),
  );
  const program = useQuery({
    queryKey: ["session", "authorization", request],
    queryFn: () => step<AskingProgram>("/console/authorization/description", { request }),
    enabled: session.user !== undefined,
    retry: false,
  });
  const answer = async (approve: boolean) => {
    const { redirectTo } = await step<{ redirectTo: string }>("/console/authorization", { request, approve });
    // The server has checked that the address is on this machine.
    globalThis.location.assign(redirectTo);
  };
  return (
    <ApprovalPage title={t("signIn.authorize.title")}>
      {program.error !== null && <ProblemNotice error={program.error} />}
      {program.data !== undefined && (
        <>
          <Text>{t("signIn.authorize.text", described(program.data))}</Text>
          <Consequences session={session} />
          <Text size="sm" c="dimmed">
            {t("signIn.authorize.onlyIf")}
          </Text>
          <Answer answer={answer} />
        </>
      )}
    </ApprovalPage>
  );
}

export function DeviceCodePage() {
  const session = useSession();
  const [code, setCode] = useState(() => decodeURIComponent(globalThis.location.hash.slice(1)).slice(0, 40));
  const [request, setRequest] = useState<DeviceRequestInfo>();
  const [answered, setAnswered] = useState<boolean>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const find = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      setRequest(await step<DeviceRequestInfo>("/console/device-authorization/description", { code }));
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  const answer = async (approve: boolean) => {
    await step("/console/device-authorization", { code, approve });
    setAnswered(approve);
  };
  if (answered !== undefined) {
    return (
      <ApprovalPage title={answered ? t("signIn.authorize.approved") : t("signIn.authorize.denied")}>
        <Text>{answered ? t("signIn.authorize.approvedText") : t("signIn.authorize.deniedText")}</Text>
      </ApprovalPage>
    );
  }
  if (request !== undefined) {
    return (
      <ApprovalPage title={t("signIn.authorize.title")}>
        <Text>
          {request.device === undefined
            ? t("signIn.authorize.text", described(request))
            : request.device.isEnrolled
              ? t("signIn.authorize.renewalText", described(request))
              : t("signIn.authorize.deviceText", described(request))}
        </Text>
        {request.device !== undefined && (
          <Text>
            {t("signIn.authorize.deviceFacts", { os: request.device.os })}{" "}
            <Code className="value">{request.device.keyFingerprint}</Code>
          </Text>
        )}
        <Text>
          {t("signIn.authorize.origin", { address: request.address })}{" "}
          <time dateTime={request.requestedAt} title={formatDateTime(request.requestedAt)}>
            {formatRelativeTime(request.requestedAt, Date.now())}
          </time>
        </Text>
        {!request.sameAddress && <Warning>{t("signIn.authorize.otherAddress")}</Warning>}

        {request.device === undefined ? (
          <Consequences session={session} />
        ) : request.device.isEnrolled ? (
          <Text>{t("signIn.authorize.renewalConsequences", { email: session.user?.email ?? "" })}</Text>
        ) : (
          <Text>{t("signIn.authorize.deviceConsequences", { email: session.user?.email ?? "" })}</Text>
        )}
        <Alert color="red">{t("signIn.authorize.phishing")}</Alert>
        <Answer answer={answer} />
      </ApprovalPage>
    );
  }
  return (
    <ApprovalPage title={t("signIn.authorize.codeTitle")}>
      <form onSubmit={(event) => void find(event)}>
        <Stack>
          <TextInput
            label={t("signIn.authorize.code")}
            description={t("signIn.authorize.codeText")}
            value={code}
            onChange={(event) => setCode(event.currentTarget.value)}
            autoComplete="off"
            autoCapitalize="characters"
            spellCheck={false}
            maxLength={40}
            required
          />
          {error !== undefined && <ProblemNotice error={error} />}
          <Button type="submit" loading={busy} disabled={code.trim() === ""}>
            {t("signIn.authorize.continue")}
          </Button>
        </Stack>
      </form>
    </ApprovalPage>
  );
}

/** The consequences of an approval, with the person as whom the program will act. */
function Consequences({ session }: { readonly session: Session }) {
  const { user, tenant } = session;
  return <Text>{t("signIn.authorize.consequences", { email: user?.email ?? "", tenant: tenant.name })}</Text>;
}

function Answer({ answer }: { readonly answer: (approve: boolean) => Promise<void> }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const submit = async (approve: boolean) => {
    setBusy(true);
    setError(undefined);
    try {
      await answer(approve);
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return (
    <>
      {error !== undefined && <ProblemNotice error={error} />}
      <Group justify="flex-end">
        <Button variant="default" disabled={busy} onClick={() => void submit(false)}>
          {t("signIn.authorize.deny")}
        </Button>
        <Button loading={busy} onClick={() => void submit(true)}>
          {t("signIn.authorize.approve")}
        </Button>
      </Group>
    </>
  );
}

function ApprovalPage({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  const { user, apiKey } = useSession();
  const queryClient = useQueryClient();
  const signOutNow = async () => {
    await signOut();
    queryClient.setQueryData(sessionQuery.queryKey, null);
  };
  return (
    <Center mih="100vh" p="md" component="main">
      <Paper withBorder shadow="sm" p="xl" w="100%" maw={480}>
        <Stack>
          <DemoNotice />
          <img src={iconUrl} alt="" width={48} height={48} />
          <Title order={1}>{title}</Title>
          {user === undefined ? (
            <>
              <Text>{t("signIn.authorize.key", { name: apiKey?.name ?? "" })}</Text>
              <Button variant="default" onClick={() => void signOutNow()}>
                {t("app.account.signOut")}
              </Button>
            </>
          ) : (
            children
          )}
        </Stack>
      </Paper>
    </Center>
  );
}

function described({ name, machine }: AskingProgram): { readonly name: string; readonly machine: string } {
  return { name, machine: machine === "" ? t("signIn.authorize.unnamed") : machine };
}

function step<T>(path: string, body: object): Promise<T> {
  return inSession(() => send<T>("POST", path, body));
}
