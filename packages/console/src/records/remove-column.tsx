/** The last column of a panel's table: a button that removes the row's record. */
import { Button, Table } from "@mantine/core";
import { t } from "../messages/i18n.ts";

export function RemoveHead() {
  return (
    <Table.Th w={100}>
      <span className="unseen">{t("common.remove")}</span>
    </Table.Th>
  );
}

interface RemoveCellProps {
  /** Names the record, for assistive technology. */
  readonly label: string;
  onClick(): void;
}

export function RemoveCell({ label, onClick }: RemoveCellProps) {
  return (
    <Table.Td className="row-actions">
      <Button size="xs" variant="default" aria-label={label} onClick={onClick}>
        {t("common.remove")}
      </Button>
    </Table.Td>
  );
}
