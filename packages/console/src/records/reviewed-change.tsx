/** The last step before a change: what it would do to access, and overriding access tests that hold it up. */
import { GatehouseError } from "@gatehouse/client/errors";
import { Alert, Button, Group, Modal, Skeleton, Stack, Text, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { api } from "../app/api.ts";
import { ProblemNotice } from "../app/problem-notice.tsx";
import { useMay } from "../app/session.ts";
import { EffectPanel } from "./effect-panel.tsx";
import { type PlannedChange, sendChange } from "./planned-change.ts";

/** What the preview itself may be refused for, and the change not. */
const withoutPreview = ["preview_too_long", "not_previewable"];

interface ReviewedChangeProps {
  readonly changes: readonly PlannedChange[];
  /** False where nobody's access can follow from it. */
  readonly changesAccess?: boolean;
  /** What follows from it beside access. */
  readonly note?: ReactNode;
  readonly label: string;
  readonly danger?: boolean;
  /** The page is left for another, as what it shows is deleted: it is not read anew. */
  readonly leaves?: boolean;
  readonly backLabel: string;
  readonly back: () => void;
  /** @param overrideReason why access tests may be broken; undefined at first */
  readonly run: (overrideReason: string | undefined) => Promise<unknown>;
  readonly done: () => void;
  /** Where it was sent already, and refused for the sake of access tests. */
  readonly heldUpBy?: GatehouseError;
  /** Is told of what the preview, or the change, was refused for; true where it shows that itself. */
  readonly refused?: (error: unknown) => boolean;
}

/** Whether it was refused for enforced access tests that it would break. */
export function isHeldUp(problem: unknown): problem is GatehouseError {
  return problem instanceof GatehouseError && problem.code === "access_tests_broken";
}

export function ReviewedChange(props: ReviewedChangeProps) {
  const {
    changes,
    changesAccess = true,
    note,
    label,
    danger = false,
    leaves = false,
    backLabel,
    back,
    run,
    done,
    refused,
    heldUpBy,
  } = props;
  const queryClient = useQueryClient();
  const mayAsk = useMay("decisions:read");
  const asks = changesAccess && mayAsk;
  const [problem, setProblem] = useState<unknown>(heldUpBy);
  const [busy, setBusy] = useState(false);
  const [reason, setReason] = useState("");
  const preview = useQuery({
    queryKey: ["preview", changes],
    enabled: asks,
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false,
    queryFn: ({ signal }) =>
      api.post("/tenants/policies/preview", { body: { changes: [...changes], page: { limit: 0 } }, signal }),
  });
  const isUnseen = preview.error instanceof GatehouseError && withoutPreview.includes(preview.error.code);
  // biome-ignore lint/correctness/useExhaustiveDependencies: told once of each refusal
  useEffect(() => {
    if (preview.error !== null && !isUnseen) refused?.(preview.error);
  }, [preview.error]);
  const readAnew = (refetchType: "none" | "active") =>
    // What the preview was about is done: it is not asked again.
    queryClient.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== "preview", refetchType });
  const send = async () => {
    setBusy(true);
    try {
      await run(isHeldUp(problem) ? reason.trim() : undefined);
      done();
      await readAnew(leaves ? "none" : "active");
    } catch (error) {
      if (refused?.(error) === true) return;
      setProblem(error);
      if (error instanceof GatehouseError && error.code === "precondition_failed") await readAnew("active");
    } finally {
      setBusy(false);
    }
  };
  return (
    <Stack>
      {note !== undefined && <Text component="div">{note}</Text>}
      {changesAccess && (
        <section aria-label="What this does to access">
          {!mayAsk ? (
            <Text c="dimmed">Your key may not ask about access, so what this does to it is not shown.</Text>
          ) : preview.error !== null ? (
            <ProblemNotice error={preview.error} retry={() => preview.refetch()} />
          ) : preview.data === undefined ? (
            <Stack gap="xs" aria-busy>
              <Text>Working out who gains and who loses access …</Text>
              <Skeleton height={14} width="60%" />
              <Skeleton height={14} width="40%" />
            </Stack>
          ) : (
            <EffectPanel effect={preview.data} planned />
          )}
        </section>
      )}
      {isHeldUp(problem) ? (
        <Alert color="red" variant="outline" title="Enforced access tests hold this up" role="alert">
          <Stack gap="sm">
            <ul style={{ margin: 0, paddingInlineStart: 20 }}>
              {problem.errors.map(({ pointer, message }) => (
                <li key={pointer + message}>{message}</li>
              ))}
            </ul>
            <TextInput
              label="Reason for overriding them"
              description="The change is then made although these tests no longer hold. The reason is kept in the audit record."
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
      <Group justify="flex-end">
        <Button variant="default" onClick={back} data-autofocus>
          {backLabel}
        </Button>
        <Button
          {...(danger || isHeldUp(problem) ? { color: "red" } : {})}
          loading={busy}
          disabled={(asks && preview.data === undefined && !isUnseen) || (isHeldUp(problem) && reason.trim() === "")}
          onClick={() => void send()}
        >
          {isHeldUp(problem) ? "Override and go on" : isUnseen ? `${label} unseen` : label}
        </Button>
      </Group>
    </Stack>
  );
}

interface ReviewDialogProps
  extends Pick<ReviewedChangeProps, "changes" | "changesAccess" | "note" | "label" | "danger" | "leaves"> {
  readonly title: string;
  readonly backLabel?: string;
  /** Of the version that the first of the changes is meant for. */
  readonly etag?: string;
  readonly close: () => void;
  /** What is said when it is done. */
  readonly said?: string;
  /** @param answer to the last of the changes */
  readonly done?: (answer: unknown) => void;
  /** As of `ReviewedChange`. */
  readonly refused?: (error: unknown) => boolean;
}

/** Is shown for as long as it is mounted. */
export function ReviewDialog({
  title,
  backLabel = "Cancel",
  etag,
  close,
  said,
  done,
  changes,
  ...change
}: ReviewDialogProps) {
  // What was reviewed is what is sent, although the page behind may be read anew.
  const [all] = useState(changes);
  const [sent, setSent] = useState(0);
  const run = async (overrideReason: string | undefined) => {
    let last: unknown;
    for (let index = sent; index < all.length; index += 1) {
      const planned = all[index];
      if (planned === undefined) break;
      last = await sendChange(planned, { overrideReason, etag: index === 0 ? etag : undefined });
      // What is done is not done again where the next one is refused.
      setSent(index + 1);
    }
    if (said !== undefined) notifications.show({ message: said, color: "green" });
    close();
    done?.(last);
  };
  return (
    <Modal opened onClose={close} title={title} size="xl" closeButtonProps={{ "aria-label": "Close" }}>
      <ReviewedChange {...change} changes={all} backLabel={backLabel} back={close} run={run} done={() => undefined} />
    </Modal>
  );
}

interface ReviewedButtonProps extends Omit<ReviewDialogProps, "close" | "label"> {
  /** Of the button, and of the one that then does it. */
  readonly label: string;
  readonly size?: "xs" | "sm";
  readonly icon?: ReactNode;
}

/** A change at the push of a button, and of another once its effect was seen. */
export function ReviewedButton({ size = "sm", icon, ...change }: ReviewedButtonProps) {
  const [opened, setOpened] = useState(false);
  return (
    <>
      <Button
        variant="default"
        size={size}
        onClick={() => setOpened(true)}
        {...(icon === undefined ? {} : { leftSection: icon })}
      >
        {change.label}
      </Button>
      {opened && <ReviewDialog {...change} close={() => setOpened(false)} />}
    </>
  );
}
