/** A save conflict: both versions of a record, field by field, to choose from. */
import { Alert, Button, Group, Stack, Table } from "@mantine/core";
import { t } from "../messages/i18n.ts";
import { type Field, formatValue, isSame, type Values } from "./form-fields.tsx";

interface ConflictProps {
  readonly fields: readonly Field[];
  readonly mine: Values;
  readonly stored: Values;
  readonly busy: boolean;
  readonly keepMine: () => void;
  readonly takeStored: () => void;
}

export function Conflict({ fields, mine, stored, busy, keepMine, takeStored }: ConflictProps) {
  const different = fields.filter(({ name }) => !isSame(mine[name], stored[name]));
  return (
    <Stack>
      <Alert color="yellow" variant="outline" title={t("records.conflict.title")} role="alert">
        {different.length === 0 ? t("records.conflict.same") : t("records.conflict.differs")}
      </Alert>
      {different.length > 0 && (
        <Table aria-label={t("records.conflict.table")}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t("records.conflict.field")}</Table.Th>
              <Table.Th>{t("records.conflict.yours")}</Table.Th>
              <Table.Th>{t("records.conflict.stored")}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {different.map((field) => (
              <Table.Tr key={field.name}>
                <Table.Th scope="row">{field.label}</Table.Th>
                <Table.Td>{formatValue(field, mine[field.name])}</Table.Td>
                <Table.Td>{formatValue(field, stored[field.name])}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={takeStored}>
          {t("records.conflict.discardMine")}
        </Button>
        <Button onClick={keepMine} loading={busy}>
          {t("records.conflict.overwrite")}
        </Button>
      </Group>
    </Stack>
  );
}
