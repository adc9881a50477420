/** The fields of forms as data, so that a form, its errors, and two versions of a record are shown by the same words. */
import { NumberInput, Select, Switch, TagsInput, Textarea, TextInput } from "@mantine/core";
import type { ReactNode } from "react";
import { fromLocalTime, toLocalTime } from "./local-time.ts";
import { type PickablePath, RecordPicker } from "./record-picker.tsx";

export type Values = Readonly<Record<string, unknown>>;

interface FieldBase {
  readonly name: string;
  readonly label: string;
  readonly description?: string;
  readonly required?: boolean;
}

/** What a field of one's own is given. */
export interface OwnFieldProps {
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly error: string | undefined;
}

export type Field = FieldBase &
  (
    | { readonly kind: "text"; readonly maxLength?: number; readonly placeholder?: string }
    | { readonly kind: "long-text"; readonly maxLength?: number; readonly placeholder?: string }
    /** Empty means null. */
    | { readonly kind: "number"; readonly min: number; readonly max: number; readonly placeholder?: string }
    | { readonly kind: "switch" }
    | { readonly kind: "choice"; readonly options: readonly { readonly value: string; readonly label: string }[] }
    | { readonly kind: "words"; readonly placeholder?: string; readonly suggestions?: readonly string[] }
    /** In the API's form; empty for none. */
    | { readonly kind: "moment" }
    /** Ids of records, which the server is asked for as one types. */
    | {
        readonly kind: "records";
        readonly path: PickablePath;
        readonly say?: (id: string) => string;
      }
    | {
        readonly kind: "own";
        readonly render: (props: OwnFieldProps) => ReactNode;
        readonly say: (value: unknown) => string;
      }
  );

interface FormFieldProps {
  readonly field: Field;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly error: string | undefined;
}

/** Values are of the kind that the field's declaration says, which is what each branch takes them for. */
export function FormField({ field, value, onChange, error }: FormFieldProps) {
  const { label, description, required } = field;
  const common = { label, description, required: required ?? false, error, withAsterisk: required ?? false };
  switch (field.kind) {
    case "text":
      return (
        <TextInput
          {...common}
          maxLength={field.maxLength ?? 120}
          placeholder={field.placeholder}
          value={value as string}
          onChange={({ currentTarget }) => onChange(currentTarget.value)}
        />
      );
    case "long-text":
      return (
        <Textarea
          {...common}
          autosize
          minRows={2}
          maxRows={12}
          maxLength={field.maxLength ?? 1000}
          placeholder={field.placeholder}
          value={value as string}
          onChange={({ currentTarget }) => onChange(currentTarget.value)}
        />
      );
    case "number":
      return (
        <NumberInput
          {...common}
          min={field.min}
          max={field.max}
          allowDecimal={false}
          hideControls
          placeholder={field.placeholder}
          value={(value as number | null) ?? ""}
          onChange={(next) => onChange(typeof next === "number" ? next : null)}
        />
      );
    case "switch":
      return (
        <Switch
          label={label}
          description={description}
          error={error}
          checked={value as boolean}
          onChange={({ currentTarget }) => onChange(currentTarget.checked)}
        />
      );
    case "choice":
      return (
        <Select
          {...common}
          data={[...field.options]}
          value={value as string}
          allowDeselect={false}
          onChange={(next) => onChange(next ?? "")}
        />
      );
    case "moment":
      return (
        <TextInput
          {...common}
          type="datetime-local"
          value={toLocalTime(value as string)}
          onChange={({ currentTarget }) => onChange(fromLocalTime(currentTarget.value))}
        />
      );
    case "words":
      return (
        <TagsInput
          {...common}
          placeholder={field.placeholder}
          data={[...(field.suggestions ?? [])]}
          maxDropdownHeight={240}
          // What is typed and not yet ended by Enter is meant too.
          acceptValueOnBlur
          value={[...(value as readonly string[])]}
          onChange={onChange}
        />
      );
    case "records":
      return <RecordPicker {...common} path={field.path} value={value as readonly string[]} onChange={onChange} />;
    case "own":
      return field.render({ value, onChange, error });
  }
}

/** A value in words, for comparing two versions. */
export function sayValue(field: Field, value: unknown): string {
  if (field.kind === "own") return field.say(value);
  if (field.kind === "records" && field.say !== undefined)
    return (value as readonly string[]).map(field.say).join(", ");
  if (value === null || value === undefined || value === "") return "nothing";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return Array.isArray(value) ? value.join(", ") || "nothing" : String(value);
}

export function isSame(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}
