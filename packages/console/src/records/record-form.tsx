/** A form in a dialog: errors at their fields, no typed text lost, and both versions where somebody else was faster. */
import { GatehouseError } from "@gatehouse/client/errors";
import { Alert, Button, Group, Modal, Stack } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useRef, useState } from "react";
import { ProblemNotice } from "../app/problem-notice.tsx";
import { Conflict } from "./conflict.tsx";
import { type Field, FormField, isSame, type Values } from "./form-fields.tsx";
import { type PlannedChange, sendChange } from "./planned-change.ts";
import { isHeldUp, ReviewedChange } from "./reviewed-change.tsx";

/** What an edited record holds now. */
export interface Stored {
  readonly values: Values;
  readonly etag: string;
}

interface RecordFormProps {
  readonly title: string;
  readonly fields: readonly Field[];
  readonly initial: Values;
  readonly submitLabel: string;
  readonly close: () => void;
  /** Absent for a new record. */
  readonly edits?: { readonly etag: string; readonly reread: () => Promise<Stored> };
}

/** How what was typed is saved. */
type Saving =
  | {
      /** @param etag of the version that was edited; empty for a new record */
      readonly submit: (values: Values, etag: string) => Promise<unknown>;
      readonly plan?: never;
      readonly changesAccess?: never;
      readonly saved?: never;
    }
  | {
      readonly submit?: never;
      /**
       * What would be sent: what it does to access is then shown before anything is saved.
       *
       * @param before what is stored
       */
      readonly plan: (values: Values, before: Values) => readonly PlannedChange[] | Promise<readonly PlannedChange[]>;
      /** False where nobody's access can follow from it: it is then sent at once, and shown only where access tests hold it up. */
      readonly changesAccess?: boolean;
      /** @param answer to the last of the requests */
      readonly saved?: (answer: unknown) => void;
    };

/** The id in the answer to a request that made a record. */
export function idIn(answer: unknown): string {
  return (answer as { readonly id: string }).id; // each such request answers with the record
}

/** Is shown for as long as it is mounted. */
export function RecordForm(props: RecordFormProps & Saving) {
  const { title, fields, initial, submitLabel, submit, plan, changesAccess = true, saved, close, edits } = props;
  const queryClient = useQueryClient();
  const [values, setValues] = useState(initial);
  const [start, setStart] = useState({ values: initial, etag: edits?.etag ?? "" });
  const [error, setError] = useState<unknown>();
  const [conflict, setConflict] = useState<Stored>();
  const [planned, setPlanned] = useState<readonly PlannedChange[]>();
  const [busy, setBusy] = useState(false);
  const [asksToDiscard, setAsksToDiscard] = useState(false);
  /** What is left of what was reviewed, where a request was refused after others had gone through. */
  const unsent = useRef<readonly PlannedChange[]>(undefined);
  const isChanged = !isSame(values, start.values);

  const refuse = (problem: unknown) => {
    setPlanned(undefined);
    if (edits !== undefined && problem instanceof GatehouseError && problem.code === "precondition_failed") {
      void edits.reread().then(setConflict, setError);
    } else setError(problem);
  };
  /** Sends what was reviewed. Where it takes several requests, and one is refused, only those that are left are sent again. */
  const sendPlanned = async (changes: readonly PlannedChange[], stored: Stored, overrideReason: string | undefined) => {
    let now = stored;
    let answer: unknown;
    for (const [index, change] of changes.entries()) {
      answer = await sendChange(change, { etag: now.etag, overrideReason });
      const left = changes.slice(index + 1);
      if (left.length === 0 || edits === undefined) continue;
      now = await edits.reread();
      setStart(now);
      unsent.current = left;
    }
    saved?.(answer);
  };
  const send = async (given: Values, { values: before, etag }: Stored) => {
    setBusy(true);
    setError(undefined);
    try {
      if (plan !== undefined) {
        const changes = await plan(given, before);
        if (changes.length > 0 && changesAccess) {
          setPlanned(changes);
          return;
        }
        await sendPlanned(changes, { values: before, etag }, undefined).catch((problem) => {
          if (isHeldUp(problem)) setPlanned(changes);
          throw problem;
        });
      }
      await submit?.(given, etag);
      await queryClient.invalidateQueries();
      close();
    } catch (problem) {
      if (isHeldUp(problem)) setError(problem);
      else refuse(problem);
    } finally {
      setBusy(false);
    }
  };
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    void send(values, start);
  };
  const leave = () => {
    if (isChanged && !asksToDiscard) setAsksToDiscard(true);
    else close();
  };
  const take = (stored: Stored) => {
    setValues(stored.values);
    setStart(stored);
    setConflict(undefined);
  };
  const atFields = errorsAtFields(error, fields);
  return (
    <Modal
      opened
      onClose={leave}
      title={title}
      size={planned === undefined ? "lg" : "xl"}
      closeOnClickOutside={false}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      {conflict !== undefined ? (
        <Conflict
          fields={fields}
          mine={values}
          theirs={conflict.values}
          busy={busy}
          keepMine={() => {
            setStart(conflict);
            setConflict(undefined);
            void send(values, conflict);
          }}
          takeTheirs={() => take(conflict)}
        />
      ) : planned !== undefined ? (
        <ReviewedChange
          changes={planned}
          label={submitLabel}
          backLabel="Back to the form"
          back={() => {
            unsent.current = undefined;
            setPlanned(undefined);
          }}
          run={(overrideReason) => sendPlanned(unsent.current ?? planned, start, overrideReason)}
          changesAccess={changesAccess}
          {...(isHeldUp(error) ? { heldUpBy: error } : {})}
          done={close}
          refused={(problem) => {
            // It is asked for its reason where it was refused.
            if (isHeldUp(problem)) return false;
            unsent.current = undefined;
            refuse(problem);
            return true;
          }}
        />
      ) : (
        <form onSubmit={onSubmit}>
          <Stack>
            {fields.map((field) => (
              <FormField
                key={field.name}
                field={field}
                value={values[field.name]}
                onChange={(value) => setValues((now) => ({ ...now, [field.name]: value }))}
                error={atFields.get(field.name)}
              />
            ))}
            {error !== undefined && <ProblemNotice error={error} />}
            {asksToDiscard && (
              <Alert color="yellow" variant="outline" title="Discard what you typed?" role="alert">
                <Group>
                  <Button size="xs" variant="default" onClick={() => setAsksToDiscard(false)}>
                    Go on editing
                  </Button>
                  <Button size="xs" color="red" onClick={close}>
                    Discard
                  </Button>
                </Group>
              </Alert>
            )}
            <Group justify="flex-end">
              <Button variant="default" onClick={leave}>
                Cancel
              </Button>
              <Button type="submit" loading={busy} disabled={edits !== undefined && !isChanged}>
                {plan === undefined || !changesAccess ? submitLabel : "Review"}
              </Button>
            </Group>
          </Stack>
        </form>
      )}
    </Modal>
  );
}

/** What the server says of fields, by the field's name: the first part of a JSON Pointer, in a preview, of its change. */
function errorsAtFields(error: unknown, fields: readonly Field[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  if (!(error instanceof GatehouseError)) return found;
  for (const { pointer, message } of error.errors) {
    const name = pointer.replace(/^\/changes\/\d+\/body/, "").split("/")[1];
    if (name !== undefined && !found.has(name)) found.set(name, message);
  }
  if (error.code === "name_taken" && fields.some(({ name }) => name === "name")) found.set("name", "The name is taken");
  return found;
}
