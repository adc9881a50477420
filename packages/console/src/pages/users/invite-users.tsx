/** Invites one user or many, from addresses that are typed, pasted, or read from a CSV file. */
import { GatehouseError } from "@gatehouse/client/errors";
import { Alert, Button, FileButton, Group, List, Modal, Progress, Stack, Text, Textarea } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { type FormEvent, useMemo, useState } from "react";
import { api } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { usePermission } from "../../app/session.ts";
import { RecordPicker } from "../../records/record-picker.tsx";
import { isBlocked, ReviewedChange } from "../../records/reviewed-change.tsx";
import { readInvitations } from "./read-invitations.ts";

/** What the API takes at once. */
const batchSize = 100;
const longestShown = 20;

interface Refused {
  readonly email: string;
  readonly reason: string;
}

export function InviteUsers({ close }: { readonly close: () => void }) {
  const canChooseGroups = usePermission("groups:read");
  const [text, setText] = useState("");
  const [groups, setGroups] = useState<readonly string[]>([]);
  const [error, setError] = useState<unknown>();
  const [refused, setRefused] = useState<readonly Refused[]>([]);
  const [sent, setSent] = useState<number>();
  const [reviewed, setReviewed] = useState<{
    readonly emails: readonly string[];
    readonly refused: readonly Refused[];
  }>();
  const { emails, bad } = useMemo(() => readInvitations(text), [text]);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    setError(undefined);
    setRefused([]);
    setReviewed({ emails, refused: [] });
  };
  const send = async (overrideReason: string | undefined) => {
    const { emails: left, refused: before } = reviewed ?? { emails: [], refused: [] };
    const turnedDown = [...before];
    let invited = 0;
    try {
      for (const batch of batchesOf(left)) {
        setSent(invited);
        const result = await invite(batch, groups, overrideReason);
        invited += batch.length - result.length;
        turnedDown.push(...result);
      }
    } catch (problem) {
      // What went through before is done: it is not sent again.
      setReviewed({ emails: left.slice(invited), refused: turnedDown });
      throw problem;
    } finally {
      setSent(undefined);
      if (invited > 0) notifications.show({ message: `${invited} invited`, color: "green" });
    }
    goBack(turnedDown);
  };
  const goBack = (turnedDown: readonly Refused[]) => {
    setReviewed(undefined);
    setRefused(turnedDown);
    if (turnedDown.length === 0 && bad.length === 0) close();
    // What is done is taken away; what is not stays to be mended.
    else setText([...turnedDown.map(({ email }) => email), ...bad.map((line) => line.text)].join("\n"));
  };
  /** Addresses that are refused are left out, and the others looked at without them. */
  const leaveOut = (problem: unknown): boolean => {
    if (reviewed === undefined || isBlocked(problem)) return false;
    const found = refusedOf(problem, reviewed.emails);
    if (found.size === 0) {
      setReviewed(undefined);
      setError(problem);
      return true;
    }
    const left = reviewed.emails.filter((_, index) => !found.has(index));
    const more = [...found].map(([index, reason]) => ({ email: reviewed.emails[index] ?? "", reason }));
    if (left.length === 0) goBack([...reviewed.refused, ...more]);
    else setReviewed({ emails: left, refused: [...reviewed.refused, ...more] });
    return true;
  };
  return (
    <Modal
      opened
      onClose={close}
      title="Invite users"
      size="lg"
      closeOnClickOutside={false}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      {reviewed !== undefined ? (
        <Stack>
          {reviewed.refused.length > 0 && (
            <Listed
              title="These cannot be invited, and are left out"
              lines={reviewed.refused.map(({ email, reason }) => `${email}: ${reason}`)}
            />
          )}
          {sent !== undefined && (
            <Progress value={(sent / reviewed.emails.length) * 100} aria-label="Invitations sent" />
          )}
          <ReviewedChange
            changes={batchesOf(reviewed.emails).map((batch) => ({
              method: "POST",
              path: "/tenants/users",
              body: bodyOf(batch, groups),
            }))}
            label={reviewed.emails.length > 1 ? `Invite ${reviewed.emails.length} users` : "Invite"}
            backLabel="Back to the form"
            back={() => setReviewed(undefined)}
            run={send}
            done={() => undefined}
            refused={leaveOut}
          />
        </Stack>
      ) : (
        <form onSubmit={submit}>
          <Stack>
            <Textarea
              label="E-mail addresses"
              description="One a line, or apart by commas; pasted from a spreadsheet, or out of a CSV file."
              placeholder={"ann@example.com\nbob@example.com"}
              autosize
              minRows={5}
              maxRows={14}
              value={text}
              onChange={({ currentTarget }) => setText(currentTarget.value)}
              required
              data-autofocus
            />
            <FileButton accept=".csv,.txt,text/csv,text/plain" onChange={(file) => void file?.text().then(setText)}>
              {(props) => (
                <Button {...props} variant="default" size="xs" style={{ alignSelf: "flex-start" }}>
                  Read a CSV file
                </Button>
              )}
            </FileButton>
            {canChooseGroups && (
              <RecordPicker
                path="/tenants/groups"
                label="Groups"
                description="None: the tenant's default group."
                value={groups}
                onChange={setGroups}
              />
            )}
            <Text size="sm" aria-live="polite">
              {emails.length === 1 ? "1 address" : `${emails.length} addresses`}
              {bad.length > 0 && `, ${bad.length} ${bad.length === 1 ? "line" : "lines"} that cannot be read`}
            </Text>
            {bad.length > 0 && (
              <Listed title="These lines are left out" lines={bad.map((line) => `Line ${line.line}: ${line.reason}`)} />
            )}
            {refused.length > 0 && (
              <Listed
                title="These were not invited"
                lines={refused.map(({ email, reason }) => `${email}: ${reason}`)}
              />
            )}
            {error !== undefined && <ProblemNotice error={error} />}
            <Group justify="flex-end">
              <Button variant="default" onClick={close}>
                Cancel
              </Button>
              <Button type="submit" disabled={emails.length === 0}>
                Review
              </Button>
            </Group>
          </Stack>
        </form>
      )}
    </Modal>
  );
}

function Listed({ title, lines }: { readonly title: string; readonly lines: readonly string[] }) {
  return (
    <Alert color="yellow" variant="outline" title={title}>
      <List size="sm">
        {lines.slice(0, longestShown).map((line) => (
          <List.Item key={line}>{line}</List.Item>
        ))}
        {lines.length > longestShown && <List.Item>and {lines.length - longestShown} more</List.Item>}
      </List>
    </Alert>
  );
}

function batchesOf(emails: readonly string[]): readonly (readonly string[])[] {
  return Array.from({ length: Math.ceil(emails.length / batchSize) }, (_, index) =>
    emails.slice(index * batchSize, (index + 1) * batchSize),
  );
}

function bodyOf(emails: readonly string[], groups: readonly string[]) {
  return emails.map((email) => ({ email, groups: [...groups] }));
}

/** A batch is done wholly or not at all: those that it was refused for are named, and the others are invited without them. */
async function invite(
  emails: readonly string[],
  groups: readonly string[],
  overrideReason: string | undefined,
): Promise<readonly Refused[]> {
  const refused: Refused[] = [];
  let left = emails;
  while (left.length > 0) {
    try {
      await api.postMany("/tenants/users", {
        body: bodyOf(left, groups),
        ...(overrideReason === undefined ? {} : { overrideReason }),
      });
      return refused;
    } catch (error) {
      const found = refusedOf(error, left);
      if (found.size === 0) throw error;
      for (const [index, reason] of found) refused.push({ email: left[index] ?? "", reason });
      left = left.filter((_, index) => !found.has(index));
    }
  }
  return refused;
}

/** Which addresses a batch, or the preview of all of them, was refused for, by their places in it. */
function refusedOf(error: unknown, emails: readonly string[]): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  if (!(error instanceof GatehouseError)) return found;
  for (const { pointer, message } of error.errors) {
    const [, change = "0", place] = /^(?:\/changes\/(\d+)\/body)?\/(\d+)(?:\/email)?$/.exec(pointer) ?? [];
    const index = Number(change) * batchSize + Number(place);
    if (place !== undefined && index < emails.length) found.set(index, message);
  }
  if (found.size === 0 && error.code === "email_taken") {
    const index = emails.length === 1 ? 0 : emails.findIndex((email) => error.problem.detail.includes(email));
    if (index >= 0) found.set(index, error.problem.title);
  }
  return found;
}
