/** A form in a dialog: errors at their fields, no typed text lost, and both versions where somebody else was faster. */
import { GatehouseError } from "@gatehouse/client/errors";
import { Alert, Button, Group, Modal, Stack } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { ProblemNotice } from "../app/problem-notice.tsx";
import { Conflict } from "./conflict.tsx";
import { type Field, FormField, isSame, type Values } from "./form-fields.tsx";

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
  /** @param etag of the version that was edited; empty for a new record */
  readonly submit: (values: Values, etag: string) => Promise<unknown>;
  readonly close: () => void;
  /** Absent for a new record. */
  readonly edits?: { readonly etag: string; readonly reread: () => Promise<Stored> };
}

/** Is shown for as long as it is mounted. */
export function RecordForm({ title, fields, initial, submitLabel, submit, close, edits }: RecordFormProps) {
  const queryClient = useQueryClient();
  const [values, setValues] = useState(initial);
  const [start, setStart] = useState({ values: initial, etag: edits?.etag ?? "" });
  const [error, setError] = useState<unknown>();
  const [conflict, setConflict] = useState<Stored>();
  const [busy, setBusy] = useState(false);
  const [asksToDiscard, setAsksToDiscard] = useState(false);
  const isChanged = !isSame(values, start.values);

  const send = async (given: Values, etag: string) => {
    setBusy(true);
    setError(undefined);
    try {
      await submit(given, etag);
      await queryClient.invalidateQueries();
      close();
    } catch (problem) {
      if (edits !== undefined && problem instanceof GatehouseError && problem.code === "precondition_failed") {
        await edits.reread().then(setConflict, setError);
      } else setError(problem);
    } finally {
      setBusy(false);
    }
  };
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    void send(values, start.etag);
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
      size="lg"
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
            void send(values, conflict.etag);
          }}
          takeTheirs={() => take(conflict)}
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
                {submitLabel}
              </Button>
            </Group>
          </Stack>
        </form>
      )}
    </Modal>
  );
}

/** What the server says of fields, by the field's name: the first part of a JSON Pointer. */
function errorsAtFields(error: unknown, fields: readonly Field[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  if (!(error instanceof GatehouseError)) return found;
  for (const { pointer, message } of error.errors) {
    const name = pointer.split("/")[1];
    if (name !== undefined && !found.has(name)) found.set(name, message);
  }
  if (error.code === "name_taken" && fields.some(({ name }) => name === "name")) found.set("name", "The name is taken");
  return found;
}
