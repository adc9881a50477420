/** The last step before a change that may alter access: what it would do, and overriding access tests that hold it up. */
import { GatehouseError } from "@gatehouse/client/errors";
import { Alert, Button, Group, Modal, Skeleton, Stack, Text, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { api } from "../app/api.ts";
import { ProblemNotice } from "../app/problem-notice.tsx";
import { useMay } from "../app/session.ts";
import { EffectPanel } from "./effect-panel.tsx";

/** A request, as it would be sent. */
export interface PlannedChange {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
}

interface ReviewedChangeProps {
  readonly changes: readonly PlannedChange[];
  /** What follows from it beside access. */
  readonly note?: ReactNode;
  readonly label: string;
  readonly danger?: boolean;
  readonly backLabel: string;
  readonly back: () => void;
  /** @param overrideReason why access tests may be broken; undefined at first */
  readonly run: (overrideReason: string | undefined) => Promise<unknown>;
  readonly done: () => void;
  /** Is told of what the preview, or the change, was refused for; true where it shows that itself. */
  readonly refused?: (error: unknown) => boolean;
}

export function ReviewedChange(props: ReviewedChangeProps) {
  const { changes, note, label, danger = false, backLabel, back, run, done, refused } = props;
  const queryClient = useQueryClient();
  const mayAsk = useMay("decisions:read");
  const [problem, setProblem] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const [reason, setReason] = useState("");
  const preview = useQuery({
    queryKey: ["preview", changes],
    enabled: mayAsk,
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false,
    queryFn: ({ signal }) =>
      api.post("/tenants/policies/preview", { body: { changes: [...changes], page: { limit: 0 } }, signal }),
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: told once of each refusal
  useEffect(() => {
    if (preview.error !== null) refused?.(preview.error);
  }, [preview.error]);
  const isHeldUp = problem instanceof GatehouseError && problem.code === "access_tests_broken";
  const send = async () => {
    setBusy(true);
    try {
      await run(isHeldUp ? reason.trim() : undefined);
      done();
      // What the preview was about is done, and what was deleted is not there: neither is asked again.
      await queryClient.invalidateQueries({
        predicate: ({ queryKey }) => queryKey[0] !== "preview",
        refetchType: changes.some(({ method }) => method === "DELETE") ? "none" : "active",
      });
    } catch (error) {
      if (refused?.(error) !== true) setProblem(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Stack>
      {note !== undefined && <Text component="div">{note}</Text>}
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
      {isHeldUp ? (
        <Alert color="red" variant="outline" title="Enforced access tests hold this up" role="alert">
          <Stack gap="sm">
            <ul style={{ margin: 0, paddingInlineStart: 20 }}>
              {problem.errors.map(({ pointer, message }) => (
                <li key={pointer + message}>{message}</li>
              ))}
            </ul>
            <TextInput
              label="Reason for overriding them"
              description="It is kept in the audit record."
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
        <Button variant="default" onClick={back}>
          {backLabel}
        </Button>
        <Button
          {...(danger || isHeldUp ? { color: "red" } : {})}
          loading={busy}
          disabled={(mayAsk && preview.data === undefined) || (isHeldUp && reason.trim() === "")}
          onClick={() => void send()}
        >
          {isHeldUp ? "Override and go on" : label}
        </Button>
      </Group>
    </Stack>
  );
}

interface ReviewDialogProps extends Omit<ReviewedChangeProps, "backLabel" | "back" | "done"> {
  readonly title: string;
  readonly close: () => void;
  readonly done?: () => void;
}

/** Is shown for as long as it is mounted. */
export function ReviewDialog({ title, close, done, ...change }: ReviewDialogProps) {
  return (
    <Modal opened onClose={close} title={title} size="xl" closeButtonProps={{ "aria-label": "Close" }}>
      <ReviewedChange
        {...change}
        backLabel="Cancel"
        back={close}
        done={() => {
          close();
          done?.();
        }}
      />
    </Modal>
  );
}
