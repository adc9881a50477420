/** The button that removes the record of a row from the record of the page. */
import { Button } from "@mantine/core";
import { t } from "../messages/i18n.ts";

interface RemoveButtonProps {
  /** Names the record, for assistive technology. */
  readonly label: string;
  readonly onClick: () => void;
}

export function RemoveButton({ label, onClick }: RemoveButtonProps) {
  return (
    <Button size="xs" variant="default" aria-label={label} onClick={onClick}>
      {t("common.remove")}
    </Button>
  );
}
