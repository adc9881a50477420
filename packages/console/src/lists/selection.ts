/** The rows that a person has selected, on any page of a list. */
import { useState } from "react";

/** The most rows of one bulk action. */
export const maxSelected = 1_000;

export interface Selection<Row extends { readonly id: string }> {
  readonly rows: readonly Row[];
  has(id: string): boolean;
  set(rows: readonly Row[], selected: boolean): void;
  clear(): void;
}

export function useSelection<Row extends { readonly id: string }>(): Selection<Row> {
  const [selected, setSelected] = useState<ReadonlyMap<string, Row>>(new Map());
  return {
    rows: [...selected.values()],
    has: (id) => selected.has(id),
    set: (rows, isSelected) =>
      setSelected((before) => {
        const after = new Map(before);
        for (const row of rows) {
          if (!isSelected) after.delete(row.id);
          else if (after.size < maxSelected) after.set(row.id, row);
        }
        return after;
      }),
    clear: () => setSelected(new Map()),
  };
}
