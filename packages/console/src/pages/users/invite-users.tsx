/** Invites users by email address: typed, pasted, or read from a CSV file. */
import { GatehouseError } from "@gatehouse/client/errors";
import { Button, Checkbox, FileButton, Group, List, Stack, Text, Textarea } from "@mantine/core";
import { type FormEvent, type ReactNode, useMemo, useState } from "react";
import { useInstallation } from "../../app/installation.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { usePermission } from "../../app/session.ts";
import { Warning } from "../../app/warning.tsx";
import { t } from "../../messages/i18n.ts";
import { Dialog } from "../../records/dialog.tsx";
import { type PlannedChange, sendChanges } from "../../records/planned-change.ts";
import { nameOfNew, RecordPicker } from "../../records/record-picker.tsx";
import { isBlocked, ReviewedChange } from "../../records/reviewed-change.tsx";
import { type SentRequest, useSavedNotice } from "../../records/saved-notice.tsx";
import { DiscardNotice, useUnsaved } from "../../records/unsaved.tsx";
import { InvitationLinks } from "./invitation-links.tsx";
import { formatInvitees, InvitationSummary, mostShown, newGroupsOf } from "./invitation-summary.tsx";
import { NoMail } from "./no-mail.tsx";
import { type InvalidLine, type Invitee, readInvitations } from "./read-invitations.ts";

/** The limit of one request. */
const batchSize = 100;

interface Refused {
  readonly invitee: Invitee;
  readonly reason: string;
}

/** The outcome of an invitation that invited somebody. */
interface Result {
  readonly invited: readonly Invitee[];
  /** Addresses and lines that were not invited, with the reason. */
  readonly skipped: readonly string[];
}

export function InviteUsers({ close }: { readonly close: () => void }) {
  return (
    <InviteForm close={close}>
      {(content, leave) => (
        <Dialog
          onClose={leave ?? (() => undefined)}
          closable={leave !== undefined}
          title={t("users.invite.title")}
          closeOnClickOutside={false}
        >
          {content}
        </Dialog>
      )}
    </InviteForm>
  );
}

interface InviteFormProps {
  readonly close: () => void;
  /** The frame of the form, such as a dialog. `leave` is undefined while links are shown, which are shown only once. */
  readonly children?: (content: ReactNode, leave: (() => void) | undefined) => ReactNode;
}

export function InviteForm({ close, children = (content) => content }: InviteFormProps) {
  const canReadGroups = usePermission("groups:read");
  const canCreateGroups = usePermission("groups:write");
  const canReadRoles = usePermission("roles:read");
  const notifySaved = useSavedNotice();
  const installation = useInstallation();
  const [text, setText] = useState("");
  const [groups, setGroups] = useState<readonly string[]>([]);
  const [roles, setRoles] = useState<readonly string[]>([]);
  const [notify, setNotify] = useState(false);
  /** Whether the person went on without an email address. */
  const [isMissing, setMissing] = useState(false);
  const [result, setResult] = useState<Result>();
  const [hasLinks, setHasLinks] = useState(false);
  const [error, setError] = useState<unknown>();
  const [refused, setRefused] = useState<readonly Refused[]>([]);
  const [reviewed, setReviewed] = useState<{
    readonly invitees: readonly Invitee[];
    readonly refused: readonly Refused[];
  }>();
  const { invitees, invalid, ignored } = useMemo(() => readInvitations(text), [text]);
  const unsaved = useUnsaved(text.trim() !== "", close);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    setError(undefined);
    setRefused([]);
    setMissing(invitees.length === 0);
    if (invitees.length > 0) setReviewed({ invitees, refused: [] });
  };
  const send = async (overrideReason: string | undefined) => {
    const { invitees: left, refused: previous } = reviewed ?? { invitees: [], refused: [] };
    const rejected = [...previous];
    const { refused: result, sent } = await invite(left, { groups, roles, notify }, overrideReason);
    rejected.push(...result);
    const invited = left.length - result.length;
    if (sent !== undefined) notifySaved(t("users.invite.done", { count: invited }), sent);
    if (invited === 0) {
      goBack(rejected);
      return;
    }
    const skipped = [...formatRefused(rejected), ...formatInvalid(invalid)];
    unsaved.release();
    // Without mail, people need their links in another way.
    if (notify && skipped.length === 0) close();
    else {
      const refusedInvitees = new Set(rejected.map(({ invitee }) => invitee));
      setResult({ invited: left.filter((invitee) => !refusedInvitees.has(invitee)), skipped });
    }
  };
  /** Returns to the form after nobody was invited. The text stays as it was typed. */
  const goBack = (rejected: readonly Refused[]) => {
    setReviewed(undefined);
    setRefused(rejected);
  };
  /** Skips addresses that the preview rejects, and previews the others. */
  const skipRefused = (problem: unknown): boolean => {
    if (reviewed === undefined || isBlocked(problem)) return false;
    const found = refusedOf(problem, reviewed.invitees, newGroupsOf(groups).length);
    if (found.size === 0) {
      setReviewed(undefined);
      setError(problem);
      return true;
    }
    const left = reviewed.invitees.filter((_, index) => !found.has(index));
    const more = refusedWith(reviewed.invitees, found);
    if (left.length === 0) goBack([...reviewed.refused, ...more]);
    else setReviewed({ invitees: left, refused: [...reviewed.refused, ...more] });
    return true;
  };
  const addresses = t("users.invite.addresses", { count: invitees.length });
  return children(
    <>
      {reviewed !== undefined && unsaved.asks && (
        <Stack mb="md">
          <DiscardNotice unsaved={unsaved} />
        </Stack>
      )}
      {result !== undefined ? (
        <InvitationResult result={result} byMail={notify} begun={() => setHasLinks(true)} close={close} />
      ) : reviewed !== undefined ? (
        <Stack>
          {reviewed.refused.length > 0 && (
            <Listed title={t("users.invite.cannotInvite")} lines={formatRefused(reviewed.refused)} />
          )}
          <ReviewedChange
            note={<InvitationSummary invitees={reviewed.invitees} groups={groups} roles={roles} />}
            changes={changesOf(reviewed.invitees, { groups, roles, notify })}
            label={t("users.invite.submit", { count: reviewed.invitees.length })}
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
              placeholder={t("common.example", { value: "Ann Example <ann@example.com>" })}
              autosize
              minRows={5}
              maxRows={14}
              value={text}
              onChange={({ currentTarget }) => {
                setText(currentTarget.value);
                setMissing(false);
              }}
              error={isMissing && t("users.invite.missing")}
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
            <Text size="sm" aria-live="polite">
              {invalid.length === 0 ? addresses : t("users.invite.invalidLines", { addresses, count: invalid.length })}
            </Text>
            {invalid.length > 0 && <Listed title={t("users.invite.skippedLines")} lines={formatInvalid(invalid)} />}
            {refused.length > 0 && <Listed title={t("users.invite.notInvited")} lines={formatRefused(refused)} />}
            {ignored.length > 0 && <Listed title={t("users.invite.ignored")} lines={ignored} />}
            {canReadGroups && (
              <RecordPicker
                path="/tenants/groups"
                label={t("users.fields.groups")}
                description={t("users.invite.groupsHelp")}
                value={groups}
                onChange={setGroups}
                createLabel={canCreateGroups ? (name) => t("users.invite.createGroup", { name }) : undefined}
              />
            )}
            {canReadRoles && (
              <RecordPicker
                path="/tenants/roles"
                label={t("users.fields.roles")}
                description={t("users.invite.rolesHelp")}
                value={roles}
                onChange={setRoles}
              />
            )}
            {installation?.sendsMail === true && (
              <Checkbox
                label={t("users.invite.notify")}
                checked={notify}
                onChange={({ currentTarget }) => setNotify(currentTarget.checked)}
              />
            )}
            {installation?.sendsMail === false && <NoMail />}
            {error !== undefined && <ProblemNotice error={error} />}
            <DiscardNotice unsaved={unsaved} />
            <Group justify="flex-end" className="form-actions">
              <Button variant="default" onClick={unsaved.leave}>
                {t("common.cancel")}
              </Button>
              <Button type="submit">{t("common.review")}</Button>
            </Group>
          </Stack>
        </form>
      )}
    </>,
    hasLinks ? undefined : unsaved.leave,
  );
}

interface InvitationResultProps {
  readonly result: Result;
  /** Whether the links were sent by mail. */
  readonly byMail: boolean;
  readonly begun: () => void;
  readonly close: () => void;
}

/** The users who were invited, the addresses that were skipped, and the links of the invited users. */
function InvitationResult({ result: { invited, skipped }, byMail, begun, close }: InvitationResultProps) {
  return (
    <Stack>
      {skipped.length > 0 && (
        <>
          <Text>{t("users.invite.invited", { names: formatInvitees(invited) })}</Text>
          <Listed title={t("users.invite.notInvited")} lines={skipped} />
        </>
      )}
      {byMail ? (
        <Group justify="flex-end">
          <Button onClick={close}>{t("common.close")}</Button>
        </Group>
      ) : (
        <InvitationLinks emails={invited.map(({ email }) => email)} begun={begun} close={close} />
      )}
    </Stack>
  );
}

function formatInvalid(invalid: readonly InvalidLine[]): readonly string[] {
  return invalid.map(({ line, reason }) => t("users.invite.line", { line, reason }));
}

function Listed({ title, lines }: { readonly title: string; readonly lines: readonly string[] }) {
  return (
    <Warning title={title}>
      <List size="sm">
        {lines.slice(0, mostShown).map((line) => (
          <List.Item key={line}>{line}</List.Item>
        ))}
        {lines.length > mostShown && <List.Item>{t("common.andMore", { count: lines.length - mostShown })}</List.Item>}
      </List>
    </Warning>
  );
}

function formatRefused(refused: readonly Refused[]): readonly string[] {
  return refused.map(({ invitee: { email }, reason }) => t("users.invite.refused", { email, reason }));
}

function batchesOf(invitees: readonly Invitee[]): readonly (readonly Invitee[])[] {
  return Array.from({ length: Math.ceil(invitees.length / batchSize) }, (_, index) =>
    invitees.slice(index * batchSize, (index + 1) * batchSize),
  );
}

/** Applies to all invited users. */
interface Grants {
  /** Ids of groups, and names of new ones. */
  readonly groups: readonly string[];
  readonly roles: readonly string[];
  /** Whether to send mail. */
  readonly notify: boolean;
}

function changesOf(invitees: readonly Invitee[], { groups, roles, notify }: Grants): readonly PlannedChange[] {
  const created = newGroupsOf(groups);
  const ids = groups.map((group) => {
    const name = nameOfNew(group);
    return name === undefined ? group : `@group${created.indexOf(name)}`;
  });
  return [
    ...created.map(
      (name, index): PlannedChange => ({
        method: "POST",
        path: "/tenants/groups",
        as: `group${index}`,
        body: { name },
      }),
    ),
    ...batchesOf(invitees).map(
      (batch): PlannedChange => ({
        method: "POST",
        path: "/tenants/users",
        body: batch.map((invitee) => ({ ...invitee, groups: ids, roles, ...(notify ? { notify } : {}) })),
      }),
    ),
  ];
}

interface Invitation {
  readonly refused: readonly Refused[];
  /** Undefined if nobody was invited. */
  readonly sent?: SentRequest;
}

/** Invites all users or none. Repeats the request without rejected addresses, and returns those. */
async function invite(
  invitees: readonly Invitee[],
  grants: Grants,
  overrideReason: string | undefined,
): Promise<Invitation> {
  const refused: Refused[] = [];
  let left = invitees;
  while (left.length > 0) {
    const changes = changesOf(left, grants);
    try {
      return { refused, sent: { changes, answer: await sendChanges(changes, { overrideReason }) } };
    } catch (error) {
      const found = refusedOf(error, left, newGroupsOf(grants.groups).length);
      if (found.size === 0) throw error;
      refused.push(...refusedWith(left, found));
      left = left.filter((_, index) => !found.has(index));
    }
  }
  return { refused };
}

/** @param reasons by the index of the invitee */
function refusedWith(invitees: readonly Invitee[], reasons: ReadonlyMap<number, string>): readonly Refused[] {
  return invitees.flatMap((invitee, index) => {
    const reason = reasons.get(index);
    return reason === undefined ? [] : [{ invitee, reason }];
  });
}

/**
 * The rejected addresses of one request, or of a change set, by index.
 *
 * @param preceding number of changes in the set before those with addresses
 */
function refusedOf(error: unknown, invitees: readonly Invitee[], preceding: number): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  if (!(error instanceof GatehouseError)) return found;
  for (const { pointer, message } of error.errors) {
    const [, change = `${preceding}`, item] = /^(?:\/changes\/(\d+)\/body)?\/(\d+)(?:\/email)?$/.exec(pointer) ?? [];
    const index = (Number(change) - preceding) * batchSize + Number(item);
    if (item === undefined || index < 0 || index >= invitees.length) continue;
    found.set(index, error.code === "email_taken" ? t("users.invite.problems.taken") : message);
  }
  if (found.size === 0 && error.code === "email_taken") {
    const index = invitees.length === 1 ? 0 : invitees.findIndex(({ email }) => error.problem.detail.includes(email));
    if (index >= 0) found.set(index, t("users.invite.problems.taken"));
  }
  return found;
}
