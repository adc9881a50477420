/** Invites one user or many, from addresses that are typed, pasted, or read from a CSV file. */
import { GatehouseError } from "@gatehouse/client/errors";
import { Alert, Button, FileButton, Group, List, Modal, Progress, Stack, Text, Textarea } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useMemo, useState } from "react";
import { api } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { useMay } from "../../app/session.ts";
import { RecordPicker } from "../../records/record-picker.tsx";
import { readInvitations } from "./read-invitations.ts";

/** What the API takes at once. */
const batchSize = 100;
const longestShown = 20;

interface Refused {
  readonly email: string;
  readonly reason: string;
}

export function InviteUsers({ close }: { readonly close: () => void }) {
  const queryClient = useQueryClient();
  const mayChooseGroups = useMay("groups:read");
  const [text, setText] = useState("");
  const [groups, setGroups] = useState<readonly string[]>([]);
  const [error, setError] = useState<unknown>();
  const [refused, setRefused] = useState<readonly Refused[]>([]);
  const [sent, setSent] = useState<number>();
  const { emails, bad } = useMemo(() => readInvitations(text), [text]);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setError(undefined);
    setRefused([]);
    const turnedDown: Refused[] = [];
    let invited = 0;
    try {
      for (let start = 0; start < emails.length; start += batchSize) {
        setSent(start);
        const batch = emails.slice(start, start + batchSize);
        const result = await invite(batch, groups);
        invited += batch.length - result.length;
        turnedDown.push(...result);
      }
      if (invited > 0) notifications.show({ message: `${invited} invited`, color: "green" });
      await queryClient.invalidateQueries();
      if (turnedDown.length === 0 && bad.length === 0) close();
      else {
        setRefused(turnedDown);
        // What is done is taken away; what is not stays to be mended.
        setText([...turnedDown.map(({ email }) => email), ...bad.map((line) => line.text)].join("\n"));
      }
    } catch (problem) {
      setError(problem);
    } finally {
      setSent(undefined);
    }
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
      <form onSubmit={(event) => void submit(event)}>
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
          {mayChooseGroups && (
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
            <Listed title="These were not invited" lines={refused.map(({ email, reason }) => `${email}: ${reason}`)} />
          )}
          {error !== undefined && <ProblemNotice error={error} />}
          {sent !== undefined && <Progress value={(sent / emails.length) * 100} aria-label="Invitations sent" />}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" disabled={emails.length === 0} loading={sent !== undefined}>
              {emails.length > 1 ? `Invite ${emails.length} users` : "Invite"}
            </Button>
          </Group>
        </Stack>
      </form>
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

/** A batch is done wholly or not at all: those that it was refused for are named, and the others are invited without them. */
async function invite(emails: readonly string[], groups: readonly string[]): Promise<readonly Refused[]> {
  const refused: Refused[] = [];
  let left = emails;
  while (left.length > 0) {
    try {
      await api.postMany("/tenants/users", { body: left.map((email) => ({ email, groups: [...groups] })) });
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

/** Which addresses a batch was refused for, by their places in it. */
function refusedOf(error: unknown, emails: readonly string[]): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  if (!(error instanceof GatehouseError)) return found;
  for (const { pointer, message } of error.errors) {
    const place = /^\/(\d+)(?:\/email)?$/.exec(pointer)?.[1];
    if (place !== undefined && Number(place) < emails.length) found.set(Number(place), message);
  }
  if (found.size === 0 && error.code === "email_taken") {
    const index = emails.length === 1 ? 0 : emails.findIndex((email) => error.problem.detail.includes(email));
    if (index >= 0) found.set(index, error.problem.title);
  }
  return found;
}
