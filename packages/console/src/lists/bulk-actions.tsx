/** The bar above a list with selected rows, and the dialog of an action on them. */
import type { GatehouseError } from "@gatehouse/client/errors";
import { Button, CloseButton, Group, Paper, Progress, Stack, Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { ProblemNotice } from "../app/problem-notice.tsx";
import { usePermissions } from "../app/session.ts";
import { Warning } from "../app/warning.tsx";
import { formatList } from "../messages/format.ts";
import { t } from "../messages/i18n.ts";
import { Dialog } from "../records/dialog.tsx";
import { RecordSelect } from "../records/record-select.tsx";
import { isBlocked, ReviewedChange } from "../records/reviewed-change.tsx";
import { type SentRequest, useSavedNotice } from "../records/saved-notice.tsx";
import { notifyProblem } from "../records/use-record.ts";
import { WholeWords } from "../records/whole-words.tsx";
import { type BulkChange, type BulkProgress, changesInSet, runBulk } from "./bulk-run.ts";
import { type BulkAction, type ListDefinition, type ListState, labelOf } from "./list-definition.ts";
import { readMatching } from "./list-rows.ts";
import { maxSelected, type Selection } from "./selection.ts";

/** The actions that the session may perform. */
export function usePermittedActions<Row extends { readonly id: string }>({
  bulk = [],
}: ListDefinition<Row>): readonly BulkAction<Row>[] {
  const permissions = usePermissions();
  return bulk.filter(({ permission }) => permissions.includes(permission));
}

interface BulkBarProps<Row extends { readonly id: string }> {
  readonly definition: ListDefinition<Row>;
  readonly actions: readonly BulkAction<Row>[];
  readonly state: ListState;
  readonly selection: Selection<Row>;
  /** Number of rows that match the search and the filters. */
  readonly total: number;
  readonly isFiltered: boolean;
}

export function BulkBar<Row extends { readonly id: string }>(props: BulkBarProps<Row>) {
  const { definition, actions, state, selection, total, isFiltered } = props;
  const [action, setAction] = useState<BulkAction<Row>>();
  const [isSelecting, setSelecting] = useState(false);
  const { rows } = selection;
  const matching = Math.min(total, maxSelected);
  // An action that no selected record needs, such as the reactivation of active users, is not offered.
  const offered = actions.filter(
    ({ choose, plan }) => choose !== undefined || rows.some((row) => plan(row, "") !== undefined),
  );
  const clear = () => {
    selection.clear();
    // The button that had the focus disappears.
    document.querySelector<HTMLElement>(".record-list thead input")?.focus();
  };
  const selectMatching = async () => {
    setSelecting(true);
    try {
      selection.set((await readMatching(definition, state, maxSelected)).data, true);
    } catch (error) {
      notifyProblem(error);
    } finally {
      setSelecting(false);
    }
  };
  return (
    <>
      {rows.length > 0 && (
        <Paper withBorder p="xs" component="section" aria-label={t("lists.select.bar")} className="bulk-bar">
          <Group gap="xs">
            <Text size="sm" fw={600} aria-live="polite" className="bulk-count">
              {t("lists.select.count", { count: rows.length })}
            </Text>
            {rows.length < matching && (
              <Button
                size="xs"
                variant="subtle"
                c="var(--mantine-color-anchor)"
                loading={isSelecting}
                onClick={() => void selectMatching()}
              >
                {t(isFiltered ? "lists.select.matching" : "lists.select.all", {
                  count: matching,
                  noun: definition.noun,
                })}
              </Button>
            )}
            <Group gap="xs" className="bulk-actions">
              {offered.map((each) => (
                <Button key={each.label} size="xs" variant="default" onClick={() => setAction(each)}>
                  {each.label}
                </Button>
              ))}
            </Group>
            <CloseButton ml="auto" aria-label={t("lists.select.clear")} onClick={clear} />
          </Group>
        </Paper>
      )}
      {action !== undefined && (
        <BulkDialog
          action={action}
          rows={rows}
          noun={definition.noun}
          close={() => setAction(undefined)}
          done={selection.clear}
        />
      )}
    </>
  );
}

interface BulkDialogProps<Row extends { readonly id: string }> {
  readonly action: BulkAction<Row>;
  readonly rows: readonly Row[];
  readonly noun: string;
  readonly close: () => void;
  /** Called after every change was made. */
  readonly done: () => void;
}

function BulkDialog<Row extends { readonly id: string }>({ action, rows, noun, close, done }: BulkDialogProps<Row>) {
  const { label, choose } = action;
  // The list behind the dialog may refetch its rows. The dialog changes those that were selected.
  const [selected] = useState(rows);
  const [chosen, setChosen] = useState("");
  const [changes, setChanges] = useState<readonly BulkChange[] | undefined>(() =>
    choose === undefined ? planned(action, selected, "") : undefined,
  );
  const notifySaved = useSavedNotice();
  const isOpen = useRef(true);
  /** Requests of an action that stopped. */
  const applied = useRef<readonly SentRequest[]>([]);
  const offerUndo = () => {
    if (applied.current.length === 0) return;
    const message = t("lists.bulk.stopped", { made: countOf(applied.current), total: changes?.length ?? 0 });
    notifySaved(message, ...applied.current);
  };
  const leave = () => {
    isOpen.current = false;
    offerUndo();
    close();
  };
  const stop = (sent: readonly SentRequest[], error: unknown) => {
    applied.current = sent;
    // A dialog that was closed earlier cannot show the error.
    if (isOpen.current) return;
    offerUndo();
    notifyProblem(error);
  };
  // The title counts what changes. Selected rows that need no change are named below it.
  const planning = changes === undefined || changes.length === 0 ? undefined : new Set(changes.map(({ id }) => id));
  const unchanged = planning === undefined ? [] : selected.filter(({ id }) => !planning.has(id));
  const concerned = planning === undefined ? selected : selected.filter(({ id }) => planning.has(id));
  const [first] = concerned;
  const key = choose === undefined ? "title" : "titleOfChoice";
  const title =
    concerned.length === 1 && first !== undefined
      ? t(`lists.bulk.${key}One`, { action: label, name: labelOf(first) })
      : t(`lists.bulk.${key}`, { action: label, count: concerned.length, noun });
  return (
    <Dialog onClose={leave} title={title}>
      {changes === undefined ? (
        <Stack>
          <RecordSelect
            path={choose?.path ?? "/tenants/groups"}
            label={choose?.label ?? ""}
            required
            value={chosen}
            onChange={setChosen}
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t("common.cancel")}
            </Button>
            <Button disabled={chosen === ""} onClick={() => setChanges(planned(action, selected, chosen))}>
              {t("common.review")}
            </Button>
          </Group>
        </Stack>
      ) : (
        <BulkReview
          action={action}
          changes={changes}
          unchanged={unchanged.map(labelOf)}
          started={() => {
            applied.current = [];
          }}
          stopped={stop}
          leave={leave}
          close={close}
          done={done}
        />
      )}
    </Dialog>
  );
}

function planned<Row extends { readonly id: string }>(
  { plan }: BulkAction<Row>,
  rows: readonly Row[],
  chosen: string,
): readonly BulkChange[] {
  return rows.flatMap((row) => {
    const change = plan(row, chosen);
    return change === undefined ? [] : [{ id: row.id, name: labelOf(row), change }];
  });
}

interface BulkReviewProps<Row> {
  readonly action: BulkAction<Row>;
  readonly changes: readonly BulkChange[];
  /** The names of selected rows that need no change. */
  readonly unchanged: readonly string[];
  readonly started: () => void;
  /** @param sent the requests that were applied before the error */
  readonly stopped: (sent: readonly SentRequest[], error: unknown) => void;
  /** Closes the dialog, and offers to undo what a stopped action applied. */
  readonly leave: () => void;
  /** Closes the dialog after all changes were made. */
  readonly close: () => void;
  readonly done: () => void;
}

function countOf(requests: readonly SentRequest[]): number {
  return requests.reduce((sum, { changes }) => sum + changes.length, 0);
}

function BulkReview<Row>(props: BulkReviewProps<Row>) {
  const { action, changes, unchanged, started, stopped, leave, close, done } = props;
  const { label, danger = false, changesAccess = true, note } = action;
  const queryClient = useQueryClient();
  const notifySaved = useSavedNotice();
  const [progress, setProgress] = useState<BulkProgress>({ made: 0, sent: [], left: changes });
  const [attempt, setAttempt] = useState<readonly BulkChange[]>(changes);
  /** Requests of earlier attempts. */
  const [sentBefore, setSentBefore] = useState<readonly SentRequest[]>([]);
  const [blockedBy, setBlockedBy] = useState<GatehouseError>();
  const made = countOf(sentBefore) + progress.made;
  const run = async (overrideReason: string | undefined) => {
    started();
    const result = await runBulk(attempt, overrideReason, setProgress);
    setProgress(result);
    const sent = [...sentBefore, ...result.sent];
    if (result.error === undefined) {
      notifySaved(t("lists.bulk.made", { count: countOf(sent) }), ...sent);
      done();
      return;
    }
    stopped(sent, result.error);
    await queryClient.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== "preview" });
    if (isBlocked(result.error)) {
      // The override must apply to the changes that are left, not to those that were made.
      setBlockedBy(result.error);
      if (result.made > 0) startOver(result.left, sent);
    }
    throw result.error;
  };
  const startOver = (rest: readonly BulkChange[], sent: readonly SentRequest[]) => {
    setSentBefore(sent);
    setAttempt(rest);
    setProgress({ made: 0, sent: [], left: rest });
  };
  const goOn = (rest: readonly BulkChange[]) => startOver(rest, [...sentBefore, ...progress.sent]);
  const { refused, error, left } = progress;
  const isStopped = error !== undefined && made > 0;
  if (changes.length === 0) return <Nothing close={leave} />;
  if (!isBlocked(error) && (isStopped || refused !== undefined)) {
    return (
      <Stack>
        <Warning role="alert" title={t("lists.bulk.stopped", { made, total: changes.length })}>
          {refused === undefined
            ? t("lists.bulk.left", { count: left.length })
            : t("lists.bulk.refused", { name: refused })}
        </Warning>
        <ProblemNotice error={error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={leave}>
            {t("common.close")}
          </Button>
          {refused !== undefined && left.length > 1 && (
            <Button variant="default" onClick={() => goOn(left.filter(({ name }) => name !== refused))}>
              {t("lists.bulk.skip", { name: refused })}
            </Button>
          )}
          <Button onClick={() => goOn(left)}>{t("lists.bulk.retry", { count: left.length })}</Button>
        </Group>
      </Stack>
    );
  }
  return (
    <ReviewedChange
      key={attempt.length}
      {...(blockedBy === undefined ? {} : { blockedBy })}
      changes={attempt.map(({ change }) => change)}
      changesAccess={changesAccess}
      note={
        <Stack gap="xs">
          <Text>{note}</Text>
          <Text size="sm" c="dimmed">
            <WholeWords text={formatList(firstNames(attempt.map(({ name }) => name)))} />
          </Text>
          {unchanged.length > 0 && (
            <Text size="sm">
              {t("lists.bulk.unchanged", { count: unchanged.length, names: formatList(firstNames(unchanged)) })}
            </Text>
          )}
          {attempt.length > changesInSet && (
            <Text size="sm">
              {t("lists.bulk.sets", { count: Math.ceil(attempt.length / changesInSet), size: changesInSet })}
            </Text>
          )}
          {progress.made > 0 && (
            <Progress value={(progress.made / attempt.length) * 100} aria-label={t("lists.bulk.progress")} />
          )}
        </Stack>
      }
      label={label}
      danger={danger}
      backLabel={t("common.cancel")}
      back={leave}
      run={run}
      done={close}
    />
  );
}

const namesShown = 5;

/** The first names, and the number of the others. */
function firstNames(names: readonly string[]): readonly string[] {
  const more = names.length - namesShown;
  return [...names.slice(0, namesShown), ...(more > 0 ? [t("lists.bulk.more", { count: more })] : [])];
}

function Nothing({ close }: { readonly close: () => void }) {
  return (
    <Stack>
      <Text>{t("lists.bulk.nothing")}</Text>
      <Group justify="flex-end">
        <Button onClick={close} data-autofocus>
          {t("common.close")}
        </Button>
      </Group>
    </Stack>
  );
}
