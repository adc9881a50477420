/** The fields of a form, rendered in several tasks (docs/decisions/0237). */
import { Box } from "@mantine/core";
import { Fragment, startTransition, useEffect, useState } from "react";
import { type Field, FormField, FormSection, type Values } from "./form-fields.tsx";

interface StagedFieldsProps {
  readonly fields: readonly Field[];
  readonly values: Values;
  readonly change: (name: string, value: unknown) => void;
  readonly errors: ReadonlyMap<string, string>;
  /** The number of fields in the first task. */
  readonly count: number;
}

/** A typical height of a field with its label, in pixels. */
const fieldHeight = 60;

/**
 * The fields of a form, a few in each task. The browser paints the dialog with the first field before it renders the
 * others, so that it responds to the click that opens a long form.
 */
export function StagedFields({ count, ...props }: StagedFieldsProps) {
  const { fields, values, change, errors } = props;
  const [showsRest, setShowsRest] = useState(false);
  useEffect(() => startTransition(() => setShowsRest(true)), []);
  const rest = fields.slice(count);
  return (
    <>
      {fields.slice(0, count).map((field) => (
        <Fragment key={field.name}>
          {field.section !== undefined && <FormSection {...field.section} />}
          <FormField
            field={field}
            value={values[field.name]}
            onChange={(value) => change(field.name, value)}
            error={errors.get(field.name)}
          />
        </Fragment>
      ))}
      {rest.length > 0 &&
        (showsRest ? (
          <StagedFields {...props} fields={rest} count={2} />
        ) : (
          <Box h={rest.length * fieldHeight} aria-busy />
        ))}
    </>
  );
}
