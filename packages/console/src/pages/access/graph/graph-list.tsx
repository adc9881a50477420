/** The graph's edges as a list: for narrow screens, and for whoever would rather read them. */
import { Group, Pagination, Paper, Stack, Table, Text } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import type { ReactNode } from "react";
import { pageSize } from "../../../lists/list-definition.ts";
import { RecordLink } from "../../../records/record-link.tsx";
import { Status } from "../../../records/status.tsx";
import { distinct } from "./graph-groups.ts";
import type { Leaf, Path } from "./graph-paths.ts";

interface GraphListProps {
  readonly paths: readonly Path[];
  readonly page: number;
  readonly turnTo: (page: number) => void;
}

export function GraphList({ paths, page, turnTo }: GraphListProps) {
  const isNarrow = useMediaQuery("(max-width: 48em)", undefined, { getInitialValueInEffect: false });
  const pages = Math.max(1, Math.ceil(paths.length / pageSize));
  const current = Math.min(page, pages);
  const shown = paths.slice((current - 1) * pageSize, current * pageSize);
  return (
    <Stack>
      {isNarrow ? <Cards paths={shown} /> : <Rows paths={shown} />}
      <Group justify="space-between">
        <Text size="sm" c="dimmed" aria-live="polite">
          {paths.length === 1
            ? "1 policy"
            : `${(current - 1) * pageSize + 1}–${(current - 1) * pageSize + shown.length} of ${paths.length.toLocaleString("en")} policies`}
        </Text>
        {pages > 1 && (
          <Pagination
            total={pages}
            value={current}
            onChange={turnTo}
            size="sm"
            getControlProps={(control) => ({ "aria-label": `${control} page` })}
            getItemProps={(number) => ({ "aria-label": `Page ${number}` })}
          />
        )}
      </Group>
    </Stack>
  );
}

interface Rows {
  readonly paths: readonly Path[];
}

function Rows({ paths }: Rows) {
  return (
    <Paper withBorder>
      <Table.ScrollContainer
        minWidth={0}
        type="native"
        scrollAreaProps={{ tabIndex: 0, role: "region", "aria-label": "Access as a list" }}
      >
        <Table className="record-table" verticalSpacing="sm">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Who</Table.Th>
              <Table.Th>Policy</Table.Th>
              <Table.Th>Says</Table.Th>
              <Table.Th>What</Table.Th>
              <Table.Th>Through</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {paths.map((path) => (
              <Table.Tr key={path.policy.key}>
                <Table.Td>
                  <Leaves leaves={path.sources} none="Nobody" />
                </Table.Td>
                <Table.Td>
                  <PolicyName path={path} />
                </Table.Td>
                <Table.Td>
                  <Said path={path} />
                </Table.Td>
                <Table.Td>
                  <Leaves leaves={path.resources} none="Nothing" />
                </Table.Td>
                <Table.Td>
                  <Through path={path} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Paper>
  );
}

function Cards({ paths }: Rows) {
  return (
    <Stack component="ul" gap="sm" p={0} m={0} style={{ listStyle: "none" }} aria-label="Access as a list">
      {paths.map((path) => (
        <Paper key={path.policy.key} component="li" withBorder p="sm">
          <Group justify="space-between" gap="xs" mb={6}>
            <PolicyName path={path} />
            <Said path={path} />
          </Group>
          <dl className="fields">
            <Fact label="Who" value={<Leaves leaves={path.sources} none="Nobody" />} />
            <Fact label="What" value={<Leaves leaves={path.resources} none="Nothing" />} />
            <Fact label="Through" value={<Through path={path} />} />
          </dl>
        </Paper>
      ))}
    </Stack>
  );
}

function Fact({ label, value }: { readonly label: string; readonly value: ReactNode }) {
  return (
    <div style={{ display: "contents" }}>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function PolicyName({ path: { policy, place } }: { readonly path: Path }) {
  return (
    <span>
      {place}. <RecordLink to={`/policies/${policy.id}`}>{policy.name}</RecordLink>
    </span>
  );
}

function Said({ path: { denies } }: { readonly path: Path }) {
  return <Status tone={denies ? "bad" : "good"}>{denies ? "Deny" : "Allow"}</Status>;
}

function Through({ path: { denies, resources, gatewaysOf } }: { readonly path: Path }) {
  if (denies) return <Text c="dimmed">Goes nowhere</Text>;
  return <Leaves leaves={distinct(resources.flatMap(gatewaysOf))} none="No gateway" />;
}

const pageOf = {
  group: "groups",
  user: "users",
  device: "devices",
  resource: "resources",
  gateway: "gateways",
  policy: "policies",
} as const;
/** Of one cell. */
const mostNames = 8;

function Leaves({ leaves, none }: { readonly leaves: readonly Leaf[]; readonly none: string }) {
  if (leaves.length === 0) return <Text c="dimmed">{none}</Text>;
  const shown = leaves.slice(0, mostNames);
  return (
    <>
      {shown.map(({ key, kind, id, name }, index) => (
        <span key={key}>
          {index > 0 && ", "}
          {kind === "words" ? name : <RecordLink to={`/${pageOf[kind]}/${id}`}>{name}</RecordLink>}
        </span>
      ))}
      {leaves.length > shown.length && ` and ${(leaves.length - shown.length).toLocaleString("en")} more`}
    </>
  );
}
