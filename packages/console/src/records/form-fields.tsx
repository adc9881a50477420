/** Form fields as data, so that a form, its errors and a conflict between two versions use the same labels. */
import { NumberInput, Select, Switch, TagsInput, Text, Textarea, TextInput, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { formatDuration, formatShortTime } from "../messages/format.ts";
import { t } from "../messages/i18n.ts";
import { DateTimeField, describeInOwnZone } from "./date-time-field.tsx";
import { DurationField, type DurationLimits } from "./duration-field.tsx";
import { type PickablePath, RecordPicker } from "./record-picker.tsx";

export type Values = Readonly<Record<string, unknown>>;

interface FieldBase {
  readonly name: string;
  readonly label: string;
  readonly description?: ReactNode;
  readonly required?: boolean;
  /** The heading above the first field of a part of the form. */
  readonly section?: { readonly title: string; readonly help: string };
  /** Returns the reason why the form refuses a value without asking the server. */
  readonly validate?: (value: unknown) => string | undefined;
}

/** The props of a custom field. */
export interface CustomFieldProps {
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly error: string | undefined;
}

export type Field = FieldBase &
  (
    | { readonly kind: "text"; readonly maxLength?: number; readonly example?: string }
    | { readonly kind: "long-text"; readonly maxLength?: number; readonly example?: string }
    /** An empty field is null. */
    | { readonly kind: "number"; readonly min: number; readonly max: number; readonly example?: string }
    /** Seconds. An empty field is null: no limit. */
    | { readonly kind: "duration"; readonly limits: DurationLimits }
    | { readonly kind: "switch" }
    | { readonly kind: "choice"; readonly options: readonly { readonly value: string; readonly label: string }[] }
    /** Several values. */
    | { readonly kind: "words"; readonly example: string; readonly suggestions?: readonly string[] }
    /** An RFC 3339 time; empty for none. */
    | { readonly kind: "date-time"; readonly description?: string }
    /** Ids of records, which the server finds while a person types. */
    | {
        readonly kind: "records";
        readonly path: PickablePath;
        readonly format?: (id: string) => string;
      }
    | {
        readonly kind: "custom";
        readonly render: (props: CustomFieldProps) => ReactNode;
        readonly format: (value: unknown) => string;
      }
  );

/** The name of a record, with an example in every form. */
export function nameField(example: string, others: Pick<FieldBase, "description" | "required"> = {}): Field {
  return { kind: "text", name: "name", label: t("common.name"), required: true, ...others, example };
}

/** The heading of a part of a form. */
export function FormSection({ title, help }: { readonly title: string; readonly help: string }) {
  return (
    <div className="form-section">
      <Title order={3}>{title}</Title>
      <Text size="sm" c="dimmed">
        {help}
      </Text>
    </div>
  );
}

interface FormFieldProps {
  readonly field: Field;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly error: string | undefined;
}

function exampleOf({ example }: { readonly example?: string }): string | undefined {
  return example === undefined ? undefined : t("common.example", { value: example });
}

/** Each branch relies on the value having the type that the field's kind requires. */
export function FormField({ field, value, onChange, error }: FormFieldProps) {
  const { label, description, required } = field;
  const common = { label, description, required: required ?? false, error, withAsterisk: required ?? false };
  switch (field.kind) {
    case "text":
      return (
        <TextInput
          {...common}
          maxLength={field.maxLength ?? 120}
          placeholder={exampleOf(field)}
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
          placeholder={exampleOf(field)}
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
          allowLeadingZeros={false}
          hideControls
          placeholder={exampleOf(field)}
          value={(value as number | null) ?? ""}
          onChange={(next) => onChange(typeof next === "number" ? next : null)}
        />
      );
    case "duration":
      return (
        <DurationField
          label={label}
          description={description}
          error={error}
          limits={field.limits}
          value={value as number | null}
          onChange={onChange}
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
    case "date-time":
      return (
        <DateTimeField
          {...common}
          description={describeInOwnZone(field.description)}
          value={value as string}
          onChange={onChange}
        />
      );
    case "words":
      return (
        <TagsInput
          {...common}
          description={
            <>
              {description} {t("records.form.severalValues")}
            </>
          }
          placeholder={(value as readonly string[]).length === 0 ? exampleOf(field) : undefined}
          data={[...(field.suggestions ?? [])]}
          maxDropdownHeight={240}
          // Input without a final Enter counts too.
          acceptValueOnBlur
          value={[...(value as readonly string[])]}
          onChange={onChange}
        />
      );
    case "records":
      return <RecordPicker {...common} path={field.path} value={value as readonly string[]} onChange={onChange} />;
    case "custom":
      return field.render({ value, onChange, error });
  }
}

/** A value as text, to compare two versions. */
export function formatValue(field: Field, value: unknown): string {
  if (field.kind === "custom") return field.format(value);
  if (field.kind === "records" && field.format !== undefined)
    return (value as readonly string[]).map(field.format).join(", ");
  if (value === null || value === undefined || value === "") return t("records.form.noValue");
  if (field.kind === "date-time") return formatShortTime(String(value));
  if (field.kind === "duration") return formatDuration(Number(value));
  if (typeof value === "boolean") return value ? t("common.yes") : t("common.no");
  return Array.isArray(value) ? value.join(", ") || t("records.form.noValue") : String(value);
}
