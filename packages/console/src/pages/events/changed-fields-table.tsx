import { Code, Table, Text } from "@mantine/core";
import { changedFields } from "./changed-fields.ts";
import { formatOperation } from "./format-operation.ts";

/** Stand above already, or say nothing about what was changed. */
const unsaid = ["id", "createdAt", "updatedAt"];

interface ChangedFieldsProps {
  readonly before: Readonly<Record<string, unknown>> | undefined;
  readonly after: Readonly<Record<string, unknown>> | undefined;
  readonly titles?: readonly [string, string];
}

/** What differs between two states of a record, field by field. */
export function ChangedFields({ before, after, titles = ["Before", "After"] }: ChangedFieldsProps) {
  const changes = changedFields(before, after).filter(({ field }) => !unsaid.includes(field));
  if (changes.length === 0) return <Text c="dimmed">The record looks the same before and after.</Text>;
  return (
    <Table className="record-table changes">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Field</Table.Th>
          <Table.Th>{titles[0]}</Table.Th>
          <Table.Th>{titles[1]}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {changes.map((change) => (
          <Table.Tr key={change.field}>
            <Table.Th scope="row">{formatOperation(change.field)}</Table.Th>
            <Table.Td>
              <Value text={change.before} />
            </Table.Td>
            <Table.Td>
              <Value text={change.after} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

function Value({ text }: { readonly text: string | undefined }) {
  if (text === undefined || text === "") return <Text c="dimmed">–</Text>;
  return <Code className="value">{text}</Code>;
}
