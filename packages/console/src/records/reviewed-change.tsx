/** The last step before a change: a preview of its effect on access, and the override of access tests that block it. */
import { GatehouseError } from "@gatehouse/client/errors";
import { Alert, Box, Button, Group, Menu, Skeleton, Stack, Text, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { api } from "../app/api.ts";
import { expectDeletions } from "../app/live-updates.ts";
import { ProblemNotice } from "../app/problem-notice.tsx";
import { sessionQuery, usePermission } from "../app/session.ts";
import { t } from "../messages/i18n.ts";
import { Dialog } from "./dialog.tsx";
import { EffectAccepted } from "./effect-accepted.tsx";
import { EffectNow } from "./effect-now.tsx";
import { type Effect, EffectPanel, hasSometimes } from "./effect-panel.tsx";
import { EmptyEffect } from "./empty-effect.tsx";
import { useActionMenu } from "./more-actions.tsx";
import { changesConditions, invitesUsers, type PlannedChange, sendChanges } from "./planned-change.ts";
import { useSavedNotice } from "./saved-notice.tsx";
import { SharedAddresses } from "./shared-addresses.tsx";
import { useEditing } from "./use-editing.ts";
import { notifyProblem } from "./use-record.ts";

/** Errors that concern the preview only. The change can still be sent. */
const previewOnlyErrors = ["preview_too_long", "not_previewable"];

/** Other changes that avoid the reason for which a change is refused. */
export interface Remedy {
  /** The label of the button that confirms, which is red: the changes include a deletion. */
  readonly label: string;
  /** @returns the changes, or the reason why there are none */
  readonly changes: () => Promise<readonly PlannedChange[] | string>;
}

interface ReviewedChangeProps {
  readonly changes: readonly PlannedChange[];
  /** False if the change cannot affect access. */
  readonly changesAccess?: boolean;
  /** The effect on access if the page has previewed the change itself. */
  readonly effect?: Effect;
  /** The consequences apart from access. */
  readonly note?: ReactNode;
  readonly label: string;
  readonly danger?: boolean;
  /**
   * Whether the page navigates away after the change, for example after a deletion. Its queries are then not refetched.
   */
  readonly leaves?: boolean;
  readonly backLabel: string;
  readonly back: () => void;
  /** @param overrideReason the reason to break access tests; undefined on the first attempt */
  readonly run: (overrideReason: string | undefined) => Promise<unknown>;
  readonly done: () => void;
  /** The notice after success, which offers to undo the change. */
  readonly savedMessage?: string;
  /** The error of an earlier attempt that access tests blocked. */
  readonly blockedBy?: GatehouseError;
  /** Receives the error of the preview or of the change. Returns true if it shows the error itself. */
  readonly refused?: (error: unknown) => boolean;
  /** Replaces the button that confirms, after an error of the preview or of the change. */
  readonly remedy?: ((error: GatehouseError) => ReactNode) | undefined;
}

/** Whether the server refused the change. Asking again would not help. */
function isRefusal(problem: unknown): boolean {
  return problem instanceof GatehouseError && problem.status >= 400 && problem.status < 500 && problem.status !== 429;
}

/** Whether a change deactivates or deletes the user. */
function locksOut(changes: readonly PlannedChange[], userId: string): boolean {
  const own = `/tenants/users/${userId}`;
  return changes.some(({ method, path }) => path === `${own}/deactivate` || (method === "DELETE" && path === own));
}

/** Whether enforced access tests blocked the change. */
export function isBlocked(problem: unknown): problem is GatehouseError {
  return problem instanceof GatehouseError && problem.code === "access_tests_broken";
}

export function ReviewedChange(props: ReviewedChangeProps) {
  const {
    changes,
    changesAccess = true,
    effect,
    note,
    label,
    danger = false,
    leaves = false,
    backLabel,
    back,
    run,
    done,
    refused,
    blockedBy,
    savedMessage,
    remedy,
  } = props;
  const notifySaved = useSavedNotice();
  const queryClient = useQueryClient();
  const canPreview = usePermission("decisions:read");
  const user = useQuery(sessionQuery).data?.user;
  const isPreviewed = changesAccess && canPreview && effect === undefined;
  const [problem, setProblem] = useState<unknown>(blockedBy);
  const [busy, setBusy] = useState(false);
  const [reason, setReason] = useState("");
  const preview = useQuery({
    queryKey: ["preview", changes],
    enabled: isPreviewed,
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false,
    queryFn: ({ signal }) =>
      api.post("/tenants/policies/preview", { body: { changes: [...changes], page: { limit: 0 } }, signal }),
  });
  const shown = effect ?? preview.data;
  const takesAccess = (shown?.lost.pairs ?? 0) > 0;
  const refusal = problem ?? preview.error;
  const remedied = refusal instanceof GatehouseError ? remedy?.(refusal) : undefined;
  const hasNoPreview = preview.error instanceof GatehouseError && previewOnlyErrors.includes(preview.error.code);
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs once for each error
  useEffect(() => {
    if (preview.error !== null && !hasNoPreview) refused?.(preview.error);
  }, [preview.error]);
  const refetchAll = (refetchType: "none" | "active") =>
    // The preview describes a change that is no longer pending. It must not be refetched.
    queryClient.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== "preview", refetchType });
  const send = async () => {
    setBusy(true);
    const deletions = leaves ? changes.filter(({ method }) => method === "DELETE") : [];
    const failed = await expectDeletions(
      queryClient,
      deletions.map(({ path }) => path),
    );
    try {
      const answer = await run(isBlocked(problem) ? reason.trim() : undefined);
      if (savedMessage !== undefined) notifySaved(savedMessage, { changes, answer });
      done();
      await refetchAll(leaves ? "none" : "active");
    } catch (error) {
      failed();
      if (refused?.(error) === true) return;
      setProblem(error);
      if (error instanceof GatehouseError && error.code === "precondition_failed") await refetchAll("active");
    } finally {
      setBusy(false);
    }
  };
  return (
    <Stack>
      {note !== undefined && <Text component="div">{note}</Text>}
      {user !== undefined && locksOut(changes, user.id) && (
        <Alert color="red" title={t("records.review.ownAccount")}>
          {t("records.review.ownAccountText", { email: user.email })}
        </Alert>
      )}
      {changesAccess && (
        <section aria-label={t("records.review.region")} className="effect-review">
          {shown !== undefined ? (
            <>
              <EffectPanel
                effect={shown}
                planned
                changes={effect === undefined ? changes : undefined}
                isConditional={changesConditions(changes)}
                invites={invitesUsers(changes)}
              />
              <SharedAddresses shared={preview.data?.sharedAddresses} />
              {(changesConditions(changes) || (isPreviewed && hasSometimes(shown))) && canPreview && (
                <EffectNow changes={changes} effect={shown} />
              )}
              {isPreviewed && invitesUsers(changes) && <EffectAccepted changes={changes} />}
              {shown.gained.pairs + shown.lost.pairs === 0 && <EmptyEffect changes={changes} />}
            </>
          ) : !canPreview ? (
            <Text c="dimmed">{t("records.review.notPermitted")}</Text>
          ) : preview.error !== null ? (
            <ProblemNotice
              error={preview.error}
              retry={isRefusal(preview.error) ? undefined : () => preview.refetch()}
            />
          ) : (
            <Stack gap="xs" aria-busy>
              <Text>{t("records.review.calculating")}</Text>
              <Skeleton height={14} width="60%" />
              <Skeleton height={14} width="40%" />
            </Stack>
          )}
        </section>
      )}
      {isBlocked(problem) ? (
        <Alert color="red" title={t("records.review.blocked")} role="alert">
          <Stack gap="sm">
            <ul className="bullets">
              {problem.errors.map(({ pointer, message }) => (
                <li key={pointer + message}>{message}</li>
              ))}
            </ul>
            <TextInput
              label={t("records.review.overrideReason")}
              description={t("records.review.overrideReasonHelp")}
              required
              maxLength={500}
              value={reason}
              onChange={({ currentTarget }) => setReason(currentTarget.value)}
            />
          </Stack>
        </Alert>
      ) : (
        problem !== undefined && <ProblemNotice error={problem} />
      )}
      <Group justify="flex-end" className="form-actions">
        <Button variant="default" onClick={back} data-autofocus>
          {backLabel}
        </Button>
        {remedied ?? (
          <Button
            {...(danger || takesAccess || isBlocked(problem) ? { color: "red" } : {})}
            loading={busy}
            disabled={
              (isPreviewed && preview.data === undefined && !hasNoPreview) ||
              (isBlocked(problem) && reason.trim() === "")
            }
            onClick={() => void send()}
          >
            {isBlocked(problem)
              ? t("records.review.override")
              : hasNoPreview
                ? t("records.review.withoutPreview", { action: label })
                : label}
          </Button>
        )}
      </Group>
    </Stack>
  );
}

interface ReviewDialogProps
  extends Pick<ReviewedChangeProps, "changes" | "changesAccess" | "note" | "label" | "danger" | "leaves"> {
  readonly title: string;
  readonly backLabel?: string;
  /** The version that the first change applies to. */
  readonly etag?: string;
  readonly close: () => void;
  /** The notification after success. */
  readonly doneMessage?: string;
  /** @param answer the response to the last change */
  readonly done?: (answer: unknown) => void;
  /** See `ReviewedChangeProps`. */
  readonly refused?: (error: unknown) => boolean;
  /** Undefined if the error has no remedy. */
  readonly remedy?: (error: GatehouseError) => Remedy | undefined;
}

/** An open dialog. Unmount it to close it. */
export function ReviewDialog({
  title,
  backLabel = t("common.cancel"),
  etag,
  close,
  doneMessage = t("records.undo.saved"),
  done,
  changes,
  note,
  label,
  remedy,
  ...change
}: ReviewDialogProps) {
  // Sends the changes that were reviewed, even if the page behind the dialog rerenders with others.
  const [{ all, version, remedied }, replace] = useState<{
    readonly all: readonly PlannedChange[];
    readonly version: string | undefined;
    /** The remedy that replaced the changes, and the refusal that it avoids. */
    readonly remedied?: { readonly label: string; readonly error: GatehouseError };
  }>({ all: changes, version: etag });
  const run = async (overrideReason: string | undefined) => {
    const last = await sendChanges(all, { overrideReason, etag: version });
    close();
    done?.(last);
    return last;
  };
  return (
    <Dialog onClose={close} title={title}>
      <ReviewedChange
        {...change}
        key={all.length}
        changes={all}
        note={
          remedied === undefined ? (
            note
          ) : (
            <>
              {note}
              <Box mt="sm">
                <ProblemNotice error={remedied.error} />
              </Box>
            </>
          )
        }
        label={remedied?.label ?? label}
        remedy={(error) => {
          const found = remedy?.(error);
          // Each of the other changes names its own version.
          return (
            found && (
              <RemedyButton
                remedy={found}
                apply={(others) =>
                  replace({ all: others, version: undefined, remedied: { label: found.label, error } })
                }
              />
            )
          );
        }}
        backLabel={backLabel}
        back={close}
        run={run}
        done={() => undefined}
        savedMessage={doneMessage}
      />
    </Dialog>
  );
}

interface RemedyButtonProps {
  readonly remedy: Remedy;
  readonly apply: (changes: readonly PlannedChange[]) => void;
}

/** Finds the changes of the remedy at once, to show their effect. After an error, the button tries again. */
function RemedyButton({ remedy: { label, changes }, apply }: RemedyButtonProps) {
  const [busy, setBusy] = useState(true);
  const [reason, setReason] = useState<string>();
  const find = async () => {
    setBusy(true);
    try {
      const found = await changes();
      if (typeof found !== "string") return apply(found);
      setReason(found);
    } catch (error) {
      notifyProblem(error);
    }
    setBusy(false);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs once
  useEffect(() => void find(), []);
  if (reason !== undefined) {
    return (
      <Text role="status" style={{ flexBasis: "100%", order: -1 }}>
        {reason}
      </Text>
    );
  }
  return (
    <Button color="red" loading={busy} onClick={() => void find()}>
      {label}
    </Button>
  );
}

interface ReviewedButtonProps extends Omit<ReviewDialogProps, "close" | "label"> {
  /** The label of the button, and of the button that confirms. */
  readonly label: string;
  readonly size?: "xs" | "sm";
  /** The icon of the item in a menu. Buttons have none. */
  readonly icon?: ReactNode;
  /** The query parameter with which the command palette opens the dialog, such as `deactivate`. */
  readonly action?: string;
}

/** A button, or an item of a menu, that shows the effect of a change. A second button makes the change. */
export function ReviewedButton({ size = "sm", icon, action = "", ...change }: ReviewedButtonProps) {
  const [opened, { open, close }] = useEditing(action);
  const menu = useActionMenu();
  if (menu?.part === "items") {
    return (
      <Menu.Item
        {...(icon === undefined ? {} : { leftSection: icon })}
        {...(change.leaves ? { c: "var(--mantine-color-error)" } : {})}
        onClick={() => menu.open(change.label)}
      >
        {change.label}
      </Menu.Item>
    );
  }
  if (menu !== undefined) {
    const closeBoth = () => {
      menu.open(undefined);
      close();
    };
    return (opened || menu.opened === change.label) && <ReviewDialog {...change} close={closeBoth} />;
  }
  return (
    <>
      <Button variant="default" size={size} onClick={open}>
        {change.label}
      </Button>
      {opened && <ReviewDialog {...change} close={close} />}
    </>
  );
}
