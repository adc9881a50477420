/** Permissions by what they are about: to choose from, or to look at. */
import { type Permission, permissions } from "@gatehouse/contract/permissions";
import { Button, Checkbox, Group, Input, Stack, Table, Text } from "@mantine/core";

interface Choice {
  readonly label: string;
  readonly permissions: readonly Permission[];
}

interface PermissionTableProps {
  readonly label: string;
  readonly held: readonly Permission[];
  /** Absent: it is only looked at. */
  readonly onChange?: (held: readonly Permission[]) => void;
  /** What may be chosen. */
  readonly offered?: readonly Permission[];
  /** Sets of them, to choose at once. */
  readonly choices?: readonly Choice[];
  readonly error?: string | undefined;
}

const special: Readonly<Record<string, string>> = {
  "gateways:token": "See gateways' tokens",
  "events:read": "Read the audit record",
  "decisions:read": "Ask who reaches what",
};

const nouns = [
  ...new Set(
    permissions.filter((permission) => !(permission in special)).map((permission) => permission.split(":")[0]),
  ),
];

function sayNoun(noun: string): string {
  if (noun === "api-keys") return "API keys";
  return `${noun.charAt(0).toUpperCase()}${noun.slice(1).replace("-", " ")}`;
}

export function PermissionTable(props: PermissionTableProps) {
  const { label, held, onChange, offered = permissions, choices = [], error } = props;
  const box = (permission: string, name: string) => {
    const known = permissions.find((each) => each === permission);
    if (known === undefined) return null;
    const checked = held.includes(known);
    if (onChange === undefined) return checked ? `Yes` : <Text c="dimmed">–</Text>;
    return (
      <Checkbox
        aria-label={name}
        checked={checked}
        // What the key that is signed in does not hold, it cannot give.
        disabled={!offered.includes(known) && !checked}
        onChange={({ currentTarget }) =>
          onChange(permissions.filter((each) => (each === known ? currentTarget.checked : held.includes(each))))
        }
      />
    );
  };
  return (
    <Stack gap="xs">
      {onChange !== undefined && (
        <>
          <Input.Label component="div" required>
            {label}
          </Input.Label>
          <Group gap="xs">
            {choices.map((choice) => (
              <Button
                key={choice.label}
                size="compact-sm"
                variant="default"
                onClick={() => onChange(choice.permissions.filter((permission) => offered.includes(permission)))}
              >
                {choice.label}
              </Button>
            ))}
          </Group>
        </>
      )}
      <Table aria-label={label} className="record-table">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Of</Table.Th>
            <Table.Th w={90}>Read</Table.Th>
            <Table.Th w={90}>Change</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {nouns.map((noun = "") => (
            <Table.Tr key={noun}>
              <Table.Th scope="row" fw={400}>
                {sayNoun(noun)}
              </Table.Th>
              <Table.Td>{box(`${noun}:read`, `Read ${sayNoun(noun)}`)}</Table.Td>
              <Table.Td>{box(`${noun}:write`, `Change ${sayNoun(noun)}`)}</Table.Td>
            </Table.Tr>
          ))}
          {Object.entries(special).map(([permission, name]) => (
            <Table.Tr key={permission}>
              <Table.Th scope="row" fw={400}>
                {name}
              </Table.Th>
              <Table.Td colSpan={2}>{box(permission, name)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {error !== undefined && <Input.Error>{error}</Input.Error>}
    </Stack>
  );
}
