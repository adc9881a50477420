/** Who gains and who loses access to what, in words: of a change that is planned, or of one that was made. */
import type { ResultOf } from "@gatehouse/client/calls";
import { Alert, Group, Stack, Table, Text } from "@mantine/core";
import { TriangleAlert } from "lucide-react";
import { RecordLink } from "./record-link.tsx";
import { Status } from "./status.tsx";

type Effect = Pick<
  ResultOf<"/tenants/events/{id}/effect", "get">,
  "gained" | "lost" | "groupCount" | "groups" | "brokenTests"
>;
type Counts = Effect["gained"];
type EffectGroup = Effect["groups"][number];

export function EffectPanel({ effect, planned }: { readonly effect: Effect; readonly planned: boolean }) {
  const { gained, lost, groups, groupCount, brokenTests } = effect;
  const nothing = gained.pairs === 0 && lost.pairs === 0;
  return (
    <Stack gap="sm">
      {nothing ? (
        <Text fw={600}>
          {planned ? "Nobody gains or loses access by this." : "Nobody gained or lost access by this."}
        </Text>
      ) : (
        <Group gap="xl">
          <Status mood={gained.pairs > 0 ? "good" : "idle"}>{`Gained: ${sayCounts(gained)}`}</Status>
          <Status mood={lost.pairs > 0 ? "bad" : "idle"}>{`Lost: ${sayCounts(lost)}`}</Status>
        </Group>
      )}
      {groups.length > 0 && (
        <Table.ScrollContainer
          minWidth={0}
          mah={360}
          type="native"
          scrollAreaProps={{ tabIndex: 0, role: "region", "aria-label": "Who gains and who loses" }}
        >
          <Table className="record-table" aria-label="Changes of access">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Who</Table.Th>
                <Table.Th>What</Table.Th>
                <Table.Th>Access</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {groups.map((group) => (
                <Table.Tr key={keyOf(group)}>
                  <Table.Td>{sayNames(group.subjects.map(saySubject), group.subjectCount)}</Table.Td>
                  <Table.Td>{sayWhat(group)}</Table.Td>
                  <Table.Td>
                    <Status mood={group.change === "gained" ? "good" : "bad"}>
                      {`${group.change === "gained" ? "Gained" : "Lost"}: ${group.before} → ${group.after}`}
                    </Status>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
      {groupCount > groups.length && (
        <Text size="sm" c="dimmed">
          {groupCount - groups.length} more groups are not shown; the counts above are of all of them.
        </Text>
      )}
      {brokenTests.length > 0 && (
        <Alert
          color="red"
          variant="outline"
          icon={<TriangleAlert aria-hidden />}
          title={planned ? "Access tests that this would break" : "Access tests that this broke"}
        >
          <ul style={{ margin: 0, paddingInlineStart: 20 }}>
            {brokenTests.map((test) => (
              <li key={test.id}>
                <RecordLink to={`/access-tests/${test.id}`} inText>
                  {test.name}
                </RecordLink>
                , for {test.brokenCount}
                {"enforced" in test && test.enforced === true && " (enforced)"}
              </li>
            ))}
          </ul>
        </Alert>
      )}
    </Stack>
  );
}

function keyOf({ change, before, after, subjects, resources }: EffectGroup): string {
  return [change, before, after, ...subjects.map(({ id }) => id), ...resources.map(({ id }) => id)].join();
}

function sayCounts({ users, devices, sites, resources, internet, pairs }: Counts): string {
  if (pairs === 0) return "nothing";
  const who = [say(users, "user"), say(devices, "device"), say(sites, "site")].filter((text) => text !== "");
  const what = [say(resources, "resource"), internet ? "the internet" : ""].filter((text) => text !== "");
  return `${who.join(", ")}, to ${what.join(" and ")}`;
}

function say(count: number, noun: string): string {
  return count === 0 ? "" : `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function saySubject({ kind, name, user }: EffectGroup["subjects"][number]): string {
  if (kind === "device" && user !== undefined) return `${user.name} on ${name}`;
  return kind === "site" ? `site ${name}` : kind === "user" ? `${name} without a device` : name;
}

function sayWhat({ resources, resourceCount, internet }: EffectGroup): string {
  const named =
    resourceCount === 0
      ? ""
      : sayNames(
          resources.map(({ name }) => name),
          resourceCount,
        );
  return [named, internet ? "the internet" : ""].filter((text) => text !== "").join(" and ");
}

function sayNames(names: readonly string[], count: number): string {
  const shown = names.slice(0, 5);
  return count > shown.length ? `${shown.join(", ")} and ${count - shown.length} more` : shown.join(", ");
}
