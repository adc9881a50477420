/** A part of a form with several rows of the same fields, which can be added and removed. */
import { Box, Button, Group, Input, Stack } from "@mantine/core";
import { Plus } from "lucide-react";
import type { ReactNode } from "react";
import { FormSection } from "./form-fields.tsx";
import { RemoveRow } from "./remove-row.tsx";

interface RepeatedRowsProps<Row> {
  readonly legend: string;
  readonly description: string;
  readonly rows: readonly Row[];
  readonly onChange: (rows: readonly Row[]) => void;
  readonly error: string | undefined;
  readonly addLabel: string;
  readonly newRow: Row;
  readonly removeLabel: (number: number) => string;
  /**
   * @param number of the row; undefined for the only one, whose labels need no number
   * @param replace changes a part of the row
   */
  readonly children: (row: Row, number: number | undefined, replace: (change: Partial<Row>) => void) => ReactNode;
}

export function RepeatedRows<Row extends object>(props: RepeatedRowsProps<Row>) {
  const { legend, description, rows, onChange, error, addLabel, newRow, removeLabel, children } = props;
  return (
    <Box role="group" aria-label={legend} className="repeated-rows">
      <FormSection title={legend} help={description} />
      <Stack gap="sm" mt="md">
        {rows.map((row, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: an unsaved row has no other identity
          <div key={index} className="removable-row">
            <Group align="flex-end" gap="sm" className="row-fields">
              {children(row, rows.length > 1 ? index + 1 : undefined, (change) =>
                onChange(rows.map((each, other) => (other === index ? { ...each, ...change } : each))),
              )}
            </Group>
            {rows.length > 1 && (
              <RemoveRow
                label={removeLabel(index + 1)}
                onClick={() => onChange(rows.filter((_, other) => other !== index))}
              />
            )}
          </div>
        ))}
        {error !== undefined && <Input.Error>{error}</Input.Error>}
        <Button
          variant="default"
          size="xs"
          leftSection={<Plus size={14} aria-hidden />}
          style={{ alignSelf: "flex-start" }}
          onClick={() => onChange([...rows, newRow])}
        >
          {addLabel}
        </Button>
      </Stack>
    </Box>
  );
}
