/** The button that removes a row of fields, at the end of the row. */
import { ActionIcon } from "@mantine/core";
import { Trash2 } from "lucide-react";

interface RemoveRowProps {
  readonly label: string;
  readonly onClick: () => void;
}

/** The row has the class `removable-row`. */
export function RemoveRow({ label, onClick }: RemoveRowProps) {
  return (
    <ActionIcon variant="default" size="var(--control)" className="remove-row" aria-label={label} onClick={onClick}>
      <Trash2 size={16} aria-hidden />
    </ActionIcon>
  );
}
