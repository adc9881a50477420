/** Somebody else saved the record first: both versions, field by field, to choose from. */
import { Alert, Button, Group, Stack, Table } from "@mantine/core";
import { type Field, isSame, sayValue, type Values } from "./form-fields.tsx";

interface ConflictProps {
  readonly fields: readonly Field[];
  readonly mine: Values;
  readonly theirs: Values;
  readonly busy: boolean;
  readonly keepMine: () => void;
  readonly takeTheirs: () => void;
}

export function Conflict({ fields, mine, theirs, busy, keepMine, takeTheirs }: ConflictProps) {
  const different = fields.filter(({ name }) => !isSame(mine[name], theirs[name]));
  return (
    <Stack>
      <Alert color="yellow" variant="outline" title="Somebody else changed this meanwhile" role="alert">
        {different.length === 0
          ? "What they saved is what you typed."
          : "Below is where your version and what is stored now differ. Nothing was saved yet."}
      </Alert>
      {different.length > 0 && (
        <Table aria-label="Both versions">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Field</Table.Th>
              <Table.Th>Yours</Table.Th>
              <Table.Th>Stored now</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {different.map((field) => (
              <Table.Tr key={field.name}>
                <Table.Th scope="row">{field.label}</Table.Th>
                <Table.Td>{sayValue(field, mine[field.name])}</Table.Td>
                <Table.Td>{sayValue(field, theirs[field.name])}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={takeTheirs}>
          Go on from what is stored
        </Button>
        <Button onClick={keepMine} loading={busy}>
          Save mine over it
        </Button>
      </Group>
    </Stack>
  );
}
