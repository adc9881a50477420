/** The button that removes a row of fields, in the corner of the row. */
import { ActionIcon } from "@mantine/core";
import { Trash2 } from "lucide-react";

interface RemoveRowProps {
  readonly label: string;
  readonly onClick: () => void;
}

/** The row has the class `removable-row`. */
export function RemoveRow({ label, onClick }: RemoveRowProps) {
  return (
    <ActionIcon variant="default" size={24} className="remove-row" aria-label={label} onClick={onClick}>
      <Trash2 size={14} aria-hidden />
    </ActionIcon>
  );
}
