/** A form in a dialog. Errors appear at their fields, input is never lost, and a save conflict shows both versions. */
import { GatehouseError } from "@gatehouse/client/errors";
import { Alert, Button, Group, Stack } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useCallback, useState } from "react";
import { ProblemNotice } from "../app/problem-notice.tsx";
import { t } from "../messages/i18n.ts";
import { Conflict } from "./conflict.tsx";
import { Dialog, focusFirstField } from "./dialog.tsx";
import { durationProblem } from "./duration-field.tsx";
import type { Field, Values } from "./form-fields.tsx";
import { Intro } from "./intro.tsx";
import { isSame } from "./is-same.ts";
import { mergeValues } from "./merge-values.ts";
import { type PlannedChange, sendChanges } from "./planned-change.ts";
import { isBlocked, ReviewedChange } from "./reviewed-change.tsx";
import { useSavedNotice } from "./saved-notice.tsx";
import { StagedFields } from "./staged-fields.tsx";
import { DiscardNotice, PendingTextsProvider, usePendingTexts, useUnsaved } from "./unsaved.tsx";

/** The stored version of an edited record. */
export interface Stored {
  readonly values: Values;
  readonly etag: string;
}

interface RecordFormProps {
  readonly title: string;
  /** The sentence above the fields. */
  readonly intro?: ReactNode;
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
      /**
       * @param etag of the edited version; empty for a new record
       *
       * @param before the stored values
       */
      readonly submit: (values: Values, etag: string, before: Values) => Promise<unknown>;
      readonly plan?: never;
      readonly changesAccess?: never;
      readonly saved?: never;
      readonly reviewNote?: never;
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
      /** The part of the review above the effect, such as a comparison of the stored values with the new ones. */
      readonly reviewNote?: (values: Values, before: Values) => ReactNode;
    };

/** The id in the response to a request that created a record. */
export function idIn(answer: unknown): string {
  return (answer as { readonly id: string }).id; // each of these requests returns the record
}

/** An open dialog. Unmount it to close it. */
export function RecordForm(props: RecordFormProps & Saving) {
  const {
    title,
    intro,
    fields,
    initial,
    submitLabel,
    submit,
    plan,
    changesAccess = true,
    saved,
    reviewNote,
    close,
    edits,
  } = props;
  const queryClient = useQueryClient();
  const notifySaved = useSavedNotice();
  const [values, setValues] = useState(initial);
  const [start, setStart] = useState({ values: initial, etag: edits?.etag ?? "" });
  const [error, setError] = useState<unknown>();
  const [conflict, setConflict] = useState<Stored>();
  const [planned, setPlanned] = useState<readonly PlannedChange[]>();
  const [busy, setBusy] = useState(false);
  /** Problems that the form itself found, by field. */
  const [invalid, setInvalid] = useState<ReadonlyMap<string, string>>(new Map());
  const isChanged = !isSame(values, start.values);
  const [hasPending, reportPending] = usePendingTexts();
  const unsaved = useUnsaved(isChanged || hasPending, close);
  const end = () => {
    unsaved.release();
    close();
  };
  const fieldsRef = useCallback(focusFirstField, []);

  const refuse = (problem: unknown) => {
    setPlanned(undefined);
    if (edits !== undefined && problem instanceof GatehouseError && problem.code === "precondition_failed") {
      void edits.reload().then(setConflict, setError);
    } else setError(problem);
  };
  const sendPlanned = async (changes: readonly PlannedChange[], etag: string, overrideReason: string | undefined) => {
    const answer = await sendChanges(changes, { etag, overrideReason });
    unsaved.release();
    saved?.(answer);
    return answer;
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
        const answer = await sendPlanned(changes, etag, undefined).catch((problem) => {
          if (isBlocked(problem)) setPlanned(changes);
          throw problem;
        });
        if (changes.length > 0) notifySaved(t("records.undo.saved"), { changes, answer });
      }
      if (submit !== undefined) {
        // A successful submission may navigate to the record.
        unsaved.release();
        await submit(given, etag, before);
      }
      await queryClient.invalidateQueries();
      end();
    } catch (problem) {
      unsaved.hold();
      if (isBlocked(problem)) setError(problem);
      else refuse(problem);
    } finally {
      setBusy(false);
    }
  };
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    const found = problemsOf(fields, values);
    setInvalid(found);
    setError(undefined);
    if (found.size === 0) void send(values, start);
  };
  const change = (name: string, value: unknown) => {
    setValues((now) => ({ ...now, [name]: value }));
    setInvalid((now) => new Map([...now].filter(([field]) => field !== name)));
  };
  const take = (stored: Stored) => {
    setValues(stored.values);
    setStart(stored);
    setConflict(undefined);
  };
  const atFields = new Map([...errorsAtFields(error, fields), ...invalid]);
  // The fields show these errors. A notice that repeats them would only be longer.
  const isAtFields = error instanceof GatehouseError && areAllAt(fields, error);
  return (
    <Dialog
      onClose={unsaved.leave}
      title={planned === undefined ? title : t("records.review.titleOf", { title })}
      closeOnClickOutside={false}
    >
      {(planned !== undefined || conflict !== undefined) && unsaved.asks && (
        <Stack mb="md">
          <DiscardNotice unsaved={unsaved} />
        </Stack>
      )}
      {conflict !== undefined ? (
        <Conflict
          fields={fields}
          merge={mergeValues(start.values, values, conflict.values)}
          stored={conflict.values}
          busy={busy}
          save={(merged) => {
            setValues(merged);
            setStart(conflict);
            setConflict(undefined);
            void send(merged, conflict);
          }}
          takeStored={() => take(conflict)}
        />
      ) : planned !== undefined ? (
        <ReviewedChange
          changes={planned}
          note={reviewNote?.(values, start.values)}
          label={submitLabel}
          backLabel={t("records.form.back")}
          back={() => setPlanned(undefined)}
          run={(overrideReason) => sendPlanned(planned, start.etag, overrideReason)}
          changesAccess={changesAccess}
          savedMessage={t("records.undo.saved")}
          {...(isBlocked(error) ? { blockedBy: error } : {})}
          done={end}
          refused={(problem) => {
            // The review asks for the reason for an override.
            if (isBlocked(problem)) return false;
            refuse(problem);
            return true;
          }}
        />
      ) : (
        <form onSubmit={onSubmit}>
          <Stack ref={fieldsRef}>
            <PendingTextsProvider value={reportPending}>
              {intro !== undefined && <Intro>{intro}</Intro>}
              <StagedFields fields={fields} values={values} change={change} errors={atFields} count={1} />
            </PendingTextsProvider>
            <Stack className="form-actions" gap="sm">
              {isAtFields || invalid.size > 0 ? (
                <Alert color="red" role="alert">
                  {t("records.form.attention", { count: atFields.size })}
                </Alert>
              ) : (
                error !== undefined && <ProblemNotice error={error} />
              )}
              <DiscardNotice unsaved={unsaved} />
              <Group justify="flex-end">
                <Button variant="default" onClick={unsaved.leave}>
                  {t("common.cancel")}
                </Button>
                <Button type="submit" loading={busy} disabled={edits !== undefined && !isChanged && !hasPending}>
                  {plan === undefined || !changesAccess ? submitLabel : t("common.review")}
                </Button>
              </Group>
            </Stack>
          </Stack>
        </form>
      )}
    </Dialog>
  );
}

/** Problems that the form finds without the server. */
function problemsOf(fields: readonly Field[], values: Values): ReadonlyMap<string, string> {
  return new Map(
    fields.flatMap((field) => {
      const value = values[field.name];
      const problem =
        field.kind === "duration"
          ? durationProblem(typeof value === "number" ? value : null, field.limits)
          : field.validate?.(value);
      return problem === undefined ? [] : [[field.name, problem] as const];
    }),
  );
}

/** The field that an error concerns: the first part of the pointer, relative to the body of a previewed change. */
function fieldOf(pointer: string): string | undefined {
  return pointer.replace(/^\/changes\/\d+\/body/, "").split("/")[1];
}

/** Whether fields of the form show every error. */
function areAllAt(fields: readonly Field[], { errors }: GatehouseError): boolean {
  const names = fields.map(({ name }) => name);
  return errors.length > 0 && errors.every(({ pointer }) => names.includes(fieldOf(pointer) ?? ""));
}

/** The server's errors by field name. */
function errorsAtFields(error: unknown, fields: readonly Field[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  if (!(error instanceof GatehouseError)) return found;
  for (const { pointer, message } of error.errors) {
    const name = fieldOf(pointer);
    // An error inside a field that shows several values repeats their position, which the field's label does not.
    if (name !== undefined && !found.has(name)) found.set(name, message.replace(/^\/\S+: /, ""));
  }
  if (error.code === "name_taken" && fields.some(({ name }) => name === "name"))
    found.set("name", t("records.form.nameTaken"));
  return found;
}
