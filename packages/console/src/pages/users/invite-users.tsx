/** Invites users by email address: typed, pasted, or read from a CSV file. */
import { GatehouseError } from "@gatehouse/client/errors";
import { Alert, Button, FileButton, Group, List, Modal, Stack, Text, Textarea } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { type FormEvent, useMemo, useState } from "react";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { type PlannedChange, sendChanges } from "../../records/planned-change.ts";
import { RecordPicker } from "../../records/record-picker.tsx";
import { isBlocked, ReviewedChange } from "../../records/reviewed-change.tsx";
import { readInvitations } from "./read-invitations.ts";

/** The limit of one request. */
const batchSize = 100;
const mostShown = 20;

interface Refused {
  readonly email: string;
  readonly reason: string;
}

export function InviteUsers({ close }: { readonly close: () => void }) {
  const canReadGroups = usePermission("groups:read");
  const [text, setText] = useState("");
  const [groups, setGroups] = useState<readonly string[]>([]);
  const [error, setError] = useState<unknown>();
  const [refused, setRefused] = useState<readonly Refused[]>([]);
  const [reviewed, setReviewed] = useState<{
    readonly emails: readonly string[];
    readonly refused: readonly Refused[];
  }>();
  const { emails, invalid } = useMemo(() => readInvitations(text), [text]);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    setError(undefined);
    setRefused([]);
    setReviewed({ emails, refused: [] });
  };
  const send = async (overrideReason: string | undefined) => {
    const { emails: left, refused: previous } = reviewed ?? { emails: [], refused: [] };
    const rejected = [...previous];
    const result = await invite(left, groups, overrideReason);
    rejected.push(...result);
    const invited = left.length - result.length;
    if (invited > 0) notifications.show({ message: t("users.invite.done", { count: invited }), color: "green" });
    goBack(rejected);
  };
  const goBack = (rejected: readonly Refused[]) => {
    setReviewed(undefined);
    setRefused(rejected);
    if (rejected.length === 0 && invalid.length === 0) close();
    // Keeps only the lines that need a correction.
    else setText([...rejected.map(({ email }) => email), ...invalid.map((line) => line.text)].join("\n"));
  };
  /** Skips addresses that the preview rejects, and previews the others. */
  const skipRefused = (problem: unknown): boolean => {
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
  const addresses = t("users.invite.addresses", { count: emails.length });
  return (
    <Modal
      opened
      onClose={close}
      title={t("users.invite.title")}
      size="lg"
      closeOnClickOutside={false}
      closeButtonProps={{ "aria-label": t("common.close") }}
    >
      {reviewed !== undefined ? (
        <Stack>
          {reviewed.refused.length > 0 && (
            <Listed
              title={t("users.invite.cannotInvite")}
              lines={reviewed.refused.map(({ email, reason }) => t("users.invite.refused", { email, reason }))}
            />
          )}
          <ReviewedChange
            changes={changesOf(reviewed.emails, groups)}
            label={t("users.invite.submit", { count: reviewed.emails.length })}
            backLabel={t("records.form.back")}
            back={() => setReviewed(undefined)}
            run={send}
            done={() => undefined}
            refused={skipRefused}
          />
        </Stack>
      ) : (
        <form onSubmit={submit}>
          <Stack>
            <Textarea
              label={t("users.invite.emails")}
              description={t("users.invite.emailsHelp")}
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
                  {t("users.invite.readFile")}
                </Button>
              )}
            </FileButton>
            {canReadGroups && (
              <RecordPicker
                path="/tenants/groups"
                label={t("users.fields.groups")}
                description={t("users.invite.groupsHelp")}
                value={groups}
                onChange={setGroups}
              />
            )}
            <Text size="sm" aria-live="polite">
              {invalid.length === 0 ? addresses : t("users.invite.invalidLines", { addresses, count: invalid.length })}
            </Text>
            {invalid.length > 0 && (
              <Listed
                title={t("users.invite.skippedLines")}
                lines={invalid.map(({ line, reason }) => t("users.invite.line", { line, reason }))}
              />
            )}
            {refused.length > 0 && (
              <Listed
                title={t("users.invite.notInvited")}
                lines={refused.map(({ email, reason }) => t("users.invite.refused", { email, reason }))}
              />
            )}
            {error !== undefined && <ProblemNotice error={error} />}
            <Group justify="flex-end">
              <Button variant="default" onClick={close}>
                {t("common.cancel")}
              </Button>
              <Button type="submit" disabled={emails.length === 0}>
                {t("common.review")}
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
        {lines.slice(0, mostShown).map((line) => (
          <List.Item key={line}>{line}</List.Item>
        ))}
        {lines.length > mostShown && <List.Item>{t("common.andMore", { count: lines.length - mostShown })}</List.Item>}
      </List>
    </Alert>
  );
}

function batchesOf(emails: readonly string[]): readonly (readonly string[])[] {
  return Array.from({ length: Math.ceil(emails.length / batchSize) }, (_, index) =>
    emails.slice(index * batchSize, (index + 1) * batchSize),
  );
}

function changesOf(emails: readonly string[], groups: readonly string[]): readonly PlannedChange[] {
  return batchesOf(emails).map((batch) => ({
    method: "POST",
    path: "/tenants/users",
    body: batch.map((email) => ({ email, groups: [...groups] })),
  }));
}

/** Invites all users or none. Repeats the request without rejected addresses, and returns those. */
async function invite(
  emails: readonly string[],
  groups: readonly string[],
  overrideReason: string | undefined,
): Promise<readonly Refused[]> {
  const refused: Refused[] = [];
  let left = emails;
  while (left.length > 0) {
    try {
      await sendChanges(changesOf(left, groups), { overrideReason });
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

/** The rejected addresses of one request, or of a change set, by index. */
function refusedOf(error: unknown, emails: readonly string[]): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  if (!(error instanceof GatehouseError)) return found;
  for (const { pointer, message } of error.errors) {
    const [, change = "0", item] = /^(?:\/changes\/(\d+)\/body)?\/(\d+)(?:\/email)?$/.exec(pointer) ?? [];
    const index = Number(change) * batchSize + Number(item);
    if (item !== undefined && index < emails.length) found.set(index, message);
  }
  if (found.size === 0 && error.code === "email_taken") {
    const index = emails.length === 1 ? 0 : emails.findIndex((email) => error.problem.detail.includes(email));
    if (index >= 0) found.set(index, error.problem.title);
  }
  return found;
}
