/** A form in a dialog. Errors appear at their fields, input is never lost, and a save conflict shows both versions. */
import { GatehouseError } from "@gatehouse/client/errors";
import { Alert, Button, Group, Modal, Stack } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { ProblemNotice } from "../app/problem-notice.tsx";
import { t } from "../messages/i18n.ts";
import { Conflict } from "./conflict.tsx";
import { type Field, FormField, isSame, type Values } from "./form-fields.tsx";
import { type PlannedChange, sendChanges } from "./planned-change.ts";
import { isBlocked, ReviewedChange } from "./reviewed-change.tsx";

/** The stored version of an edited record. */
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
  readonly edits?: { readonly etag: string; readonly reload: () => Promise<Stored> };
}

/** How the form is saved. */
type Saving =
  | {
      /** @param etag of the edited version; empty for a new record */
      readonly submit: (values: Values, etag: string) => Promise<unknown>;
      readonly plan?: never;
      readonly changesAccess?: never;
      readonly saved?: never;
    }
  | {
      readonly submit?: never;
      /**
       * Returns the requests to send. The form first shows their effect on access.
       *
       * @param before the stored values
       */
      readonly plan: (values: Values, before: Values) => readonly PlannedChange[] | Promise<readonly PlannedChange[]>;
      /** False if the change cannot affect access. It is then sent without a preview, unless access tests block it. */
      readonly changesAccess?: boolean;
      /** @param answer the response to the last request */
      readonly saved?: (answer: unknown) => void;
    };

/** The id in the response to a request that created a record. */
export function idIn(answer: unknown): string {
  return (answer as { readonly id: string }).id; // each of these requests returns the record
}

/** An open dialog. Unmount it to close it. */
export function RecordForm(props: RecordFormProps & Saving) {
  const { title, fields, initial, submitLabel, submit, plan, changesAccess = true, saved, close, edits } = props;
  const queryClient = useQueryClient();
  const [values, setValues] = useState(initial);
  const [start, setStart] = useState({ values: initial, etag: edits?.etag ?? "" });
  const [error, setError] = useState<unknown>();
  const [conflict, setConflict] = useState<Stored>();
  const [planned, setPlanned] = useState<readonly PlannedChange[]>();
  const [busy, setBusy] = useState(false);
  const [confirmsDiscard, setConfirmsDiscard] = useState(false);
  const isChanged = !isSame(values, start.values);

  const refuse = (problem: unknown) => {
    setPlanned(undefined);
    if (edits !== undefined && problem instanceof GatehouseError && problem.code === "precondition_failed") {
      void edits.reload().then(setConflict, setError);
    } else setError(problem);
  };
  const sendPlanned = async (changes: readonly PlannedChange[], etag: string, overrideReason: string | undefined) => {
    const answer = await sendChanges(changes, { etag, overrideReason });
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
        await sendPlanned(changes, etag, undefined).catch((problem) => {
          if (isBlocked(problem)) setPlanned(changes);
          throw problem;
        });
      }
      await submit?.(given, etag);
      await queryClient.invalidateQueries();
      close();
    } catch (problem) {
      if (isBlocked(problem)) setError(problem);
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
    if (isChanged && !confirmsDiscard) setConfirmsDiscard(true);
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
      closeButtonProps={{ "aria-label": t("common.close") }}
    >
      {conflict !== undefined ? (
        <Conflict
          fields={fields}
          mine={values}
          stored={conflict.values}
          busy={busy}
          keepMine={() => {
            setStart(conflict);
            setConflict(undefined);
            void send(values, conflict);
          }}
          takeStored={() => take(conflict)}
        />
      ) : planned !== undefined ? (
        <ReviewedChange
          changes={planned}
          label={submitLabel}
          backLabel={t("records.form.back")}
          back={() => setPlanned(undefined)}
          run={(overrideReason) => sendPlanned(planned, start.etag, overrideReason)}
          changesAccess={changesAccess}
          {...(isBlocked(error) ? { blockedBy: error } : {})}
          done={close}
          refused={(problem) => {
            // The review asks for the reason for an override.
            if (isBlocked(problem)) return false;
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
            {confirmsDiscard && (
              <Alert color="yellow" variant="outline" title={t("records.form.discardTitle")} role="alert">
                <Group>
                  <Button size="xs" variant="default" onClick={() => setConfirmsDiscard(false)}>
                    {t("records.form.keepEditing")}
                  </Button>
                  <Button size="xs" color="red" onClick={close}>
                    {t("records.form.discard")}
                  </Button>
                </Group>
              </Alert>
            )}
            <Group justify="flex-end">
              <Button variant="default" onClick={leave}>
                {t("common.cancel")}
              </Button>
              <Button type="submit" loading={busy} disabled={edits !== undefined && !isChanged}>
                {plan === undefined || !changesAccess ? submitLabel : t("common.review")}
              </Button>
            </Group>
          </Stack>
        </form>
      )}
    </Modal>
  );
}

/**
 * The server's errors by field name: the first part of the JSON Pointer, relative to the body of a previewed change.
 */
function errorsAtFields(error: unknown, fields: readonly Field[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  if (!(error instanceof GatehouseError)) return found;
  for (const { pointer, message } of error.errors) {
    const name = pointer.replace(/^\/changes\/\d+\/body/, "").split("/")[1];
    if (name !== undefined && !found.has(name)) found.set(name, message);
  }
  if (error.code === "name_taken" && fields.some(({ name }) => name === "name"))
    found.set("name", t("records.form.nameTaken"));
  return found;
}
