/** Enrolment links for many people at once, to copy or as a CSV file. */
import { Button, Group, Stack, Table, Text } from "@mantine/core";
import { useId, useState } from "react";
import { api } from "../../app/api.ts";
import { CopyText } from "../../app/copy.tsx";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { Warning } from "../../app/warning.tsx";
import { t } from "../../messages/i18n.ts";
import { RichText } from "../../messages/rich-text.tsx";
import { Intro } from "../../records/intro.tsx";
import { LoopbackNote } from "../../records/loopback-note.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { csvOf, type LinkOfPerson } from "./links-csv.ts";

interface InvitationLinksProps {
  readonly emails: readonly string[];
  /** Called before links are created. The creation continues after the list of links is closed. */
  readonly begun: () => void;
  readonly close: () => void;
}

export function InvitationLinks({ emails, begun, close }: InvitationLinksProps) {
  const [links, setLinks] = useState<readonly LinkOfPerson[]>([]);
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const id = useId();
  const create = async () => {
    begun();
    setBusy(true);
    setError(undefined);
    const made = [...links];
    try {
      // One at a time: links that were made before a failure are kept.
      for (const email of emails.slice(made.length)) {
        made.push(await createLink(email));
        setLinks([...made]);
      }
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  const complete = links.length === emails.length;
  return (
    <Stack>
      {complete ? (
        <Text>
          <RichText
            message="enrolmentLinks.many.created"
            values={{ count: links.length }}
            elements={{ time: <RelativeTime at={links[0]?.expiresAt} /> }}
          />
        </Text>
      ) : (
        <Intro>{t("enrolmentLinks.many.text", { count: emails.length })}</Intro>
      )}
      {links.length > 0 && (
        <Text aria-live="polite">
          {t("enrolmentLinks.many.progress", { done: links.length, count: emails.length })}
        </Text>
      )}
      {links.length > 0 && (
        <Table.ScrollContainer
          minWidth={0}
          mah={260}
          type="native"
          tabIndex={0}
          role="group"
          aria-label={t("enrolmentLinks.title")}
        >
          <Table className="record-table" aria-label={t("enrolmentLinks.title")}>
            <Table.Tbody>
              {links.map(({ email, url }, index) => (
                <Table.Tr key={email}>
                  <Table.Td id={`${id}-${index}`}>
                    <bdi>{email}</bdi>
                  </Table.Td>
                  <Table.Td className="row-actions">
                    <CopyText text={url} size="xs" variant="default" aria-describedby={`${id}-${index}`}>
                      {t("enrolmentLinks.copyLink")}
                    </CopyText>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
      {links[0] !== undefined && (
        <>
          <Text size="sm">
            {t("enrolmentLinks.many.csv", { address: new URL("/console/enrol", links[0].url).href })}
          </Text>
          <Warning>{t("enrolmentLinks.many.warning")}</Warning>
          <LoopbackNote url={links[0].url} about="links" />
        </>
      )}
      {error !== undefined && <ProblemNotice error={error} />}
      <Group justify="flex-end">
        <Button variant="default" onClick={close} disabled={busy}>
          {complete ? t("enrolmentLinks.many.saved") : t("enrolmentLinks.many.skip")}
        </Button>
        {links.length > 0 && !busy && (
          <Button variant={complete ? "filled" : "default"} onClick={() => download(csvOf(links))}>
            {t("enrolmentLinks.many.export")}
          </Button>
        )}
        {!complete && (
          <Button loading={busy} onClick={() => void create()}>
            {t("enrolmentLinks.many.create")}
          </Button>
        )}
      </Group>
    </Stack>
  );
}

async function createLink(email: string): Promise<LinkOfPerson> {
  const found = await api.get("/tenants/users", { query: { "filter[email]": email, limit: 1 } });
  const [user] = found.data;
  if (user === undefined) throw new Error(`no user has the address ${email}`);
  const link = await api.post("/tenants/users/{id}/enrolment-links", { path: { id: user.id }, body: {} });
  return { email, url: link.url, code: link.code, expiresAt: link.expiresAt };
}

function download(text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = "enrolment-links.csv";
  anchor.click();
  URL.revokeObjectURL(url);
}
