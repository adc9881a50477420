/** A part of a form with several rows of the same fields, which can be added and removed. */
import { ActionIcon, Button, Fieldset, Group, Input, Stack } from "@mantine/core";
import { Plus, Trash2 } from "lucide-react";
import type { ReactNode } from "react";

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
    <Fieldset legend={legend} className="repeated-rows">
      <Stack gap="sm">
        <Input.Description>{description}</Input.Description>
        {rows.map((row, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: an unsaved row has no other identity
          <Group key={index} align="flex-end" gap="sm" wrap="nowrap">
            <Group align="flex-end" gap="sm" flex={1} miw={0}>
              {children(row, rows.length > 1 ? index + 1 : undefined, (change) =>
                onChange(rows.map((each, other) => (other === index ? { ...each, ...change } : each))),
              )}
            </Group>
            <ActionIcon
              variant="default"
              size="lg"
              aria-label={removeLabel(index + 1)}
              disabled={rows.length === 1}
              onClick={() => onChange(rows.filter((_, other) => other !== index))}
            >
              <Trash2 size={16} aria-hidden />
            </ActionIcon>
          </Group>
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
    </Fieldset>
  );
}
