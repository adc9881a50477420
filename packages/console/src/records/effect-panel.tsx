/** The effect of a planned or a completed change: who gains and who loses access to what. */
import type { ResultOf } from "@gatehouse/client/calls";
import { Alert, Button, Group, Stack, Table, Text } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { compareText, formatCellList, formatList } from "../messages/format.ts";
import { t } from "../messages/i18n.ts";
import { RichText } from "../messages/rich-text.tsx";
import { EffectRows } from "./effect-rows.tsx";
import { formatSubjects, namedOf, type SubjectLine } from "./format-subject.ts";
import type { PlannedChange } from "./planned-change.ts";
import { RecordLink } from "./record-link.tsx";
import { Status } from "./status.tsx";
import { WholeNames, WholeWords } from "./whole-words.tsx";

/** The effect of a planned or a completed change. */
export type Effect = Pick<
  ResultOf<"/tenants/events/{id}/effect", "get">,
  "gained" | "lost" | "groupCount" | "groups" | "brokenTests"
>;
type Counts = Effect["gained"];
type EffectGroup = Effect["groups"][number];

interface EffectPanelProps {
  readonly effect: Effect;
  readonly planned: boolean;
  /** The previewed changes. The panel can then list each subject and resource. */
  readonly changes?: readonly PlannedChange[] | undefined;
  /** Whether the times and conditions of access can change although nobody gains or loses it entirely. */
  readonly isConditional?: boolean;
  /** Whether the change invites users, whose access changes when they accept. */
  readonly invites?: boolean;
}

export function EffectPanel({ effect, planned, changes, isConditional = false, invites = false }: EffectPanelProps) {
  const [showsAll, setShowsAll] = useState(false);
  const { gained, lost, groups, groupCount, brokenTests } = effect;
  const tense = planned ? "planned" : "made";
  return (
    <Stack gap="sm" className="effect">
      {brokenTests.length > 0 && (
        <Alert color="red" title={t(`records.effect.${tense}.brokenTests`)}>
          <ul className="bullets">
            {brokenTests.map((test) => (
              <li key={test.id}>
                <RichText
                  message={
                    "enforced" in test && test.enforced === true ? "records.effect.testEnforced" : "records.effect.test"
                  }
                  values={{ name: test.name, count: test.brokenCount }}
                  elements={{ test: <RecordLink to={`/access-tests/${test.id}`} inText /> }}
                />
              </li>
            ))}
          </ul>
        </Alert>
      )}
      {gained.pairs === 0 && lost.pairs === 0 ? (
        <Text fw={600}>
          {planned && invites
            ? t("records.effect.planned.noneBeforeAcceptance")
            : t(`records.effect.${tense}.${isConditional ? "noneEntirely" : "none"}`)}
        </Text>
      ) : (
        <EffectCounts effect={effect} tense={tense} />
      )}
      {groups.length > 0 && (
        <Table.ScrollContainer
          minWidth={0}
          className="effect-table"
          type="native"
          tabIndex={0}
          role="group"
          aria-label={t("records.effect.region")}
        >
          <Table className="record-table stacks sentences" aria-label={t("records.effect.region")}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{t("records.effect.columns.subjects")}</Table.Th>
                <Table.Th>{t("records.effect.columns.resources")}</Table.Th>
                <Table.Th>{t("records.effect.columns.access")}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {groups.map((group, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a group has no identity but its index
                <Table.Tr key={index}>
                  <Table.Td data-label={t("records.effect.columns.subjects")}>
                    <ul className="lines">
                      {formatSubjects(group.subjects, group.subjectCount, usersOf(group, effect)).map((line, place) => (
                        // biome-ignore lint/suspicious/noArrayIndexKey: two subjects can have the same name
                        <li key={place}>
                          <bdi>{planned ? <WholeWords text={line.text} /> : <Linked {...line} />}</bdi>
                        </li>
                      ))}
                    </ul>
                  </Table.Td>
                  <Table.Td data-label={t("records.effect.columns.resources")}>
                    <bdi>
                      {planned ? <WholeNames names={partsOfResources(group)} /> : <LinkedResources group={group} />}
                    </bdi>
                  </Table.Td>
                  <Table.Td>
                    <Status tone={group.change === "gained" ? "good" : "bad"}>
                      {t(`records.effect.${group.change}`, {
                        before: t(`records.access.${group.before}`),
                        after: t(`records.access.${group.after}`),
                      })}
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
          {t("records.effect.moreGroups", { count: groupCount - groups.length })}
        </Text>
      )}
      {hasSometimes(effect) && (
        <Text size="sm" c="dimmed">
          {t("records.effect.sometimes")}
        </Text>
      )}
      {namesUserAlone(effect) && (
        <Text size="sm" c="dimmed">
          {t("records.effect.withoutDeviceNote")}
        </Text>
      )}
      {changes !== undefined && isAbridged(effect) && !showsAll && (
        <Button variant="default" size="xs" style={{ alignSelf: "start" }} onClick={() => setShowsAll(true)}>
          {t("records.effect.showAll", { count: gained.pairs + lost.pairs })}
        </Button>
      )}
      {changes !== undefined && showsAll && <EffectRows changes={changes} total={gained.pairs + lost.pairs} />}
    </Stack>
  );
}

interface EffectCountsProps {
  readonly effect: Pick<Effect, "gained" | "lost">;
  readonly tense: "planned" | "made";
}

/** The numbers of those who gain and lose access. */
export function EffectCounts({ effect: { gained, lost }, tense }: EffectCountsProps) {
  return (
    <Group gap="xs">
      <Status tone={gained.pairs > 0 ? "good" : "idle"}>{formatCounts("gained", gained, tense)}</Status>
      <Status tone={lost.pairs > 0 ? "bad" : "idle"}>{formatCounts("lost", lost, tense)}</Status>
    </Group>
  );
}

/** Whether somebody has access in some circumstances only, before or after the change. */
export function hasSometimes({ groups }: Effect): boolean {
  return groups.some(({ before, after }) => before === "sometimes" || after === "sometimes");
}

/** Whether the table names a user without a device. */
function namesUserAlone({ groups }: Effect): boolean {
  return groups.some(({ subjects }) => subjects.some(({ kind }) => kind === "user"));
}

/** Whether the table counts subjects or resources that it does not name. */
function isAbridged({ groups, groupCount }: Effect): boolean {
  const isCut = (count: number, first: readonly unknown[]) => count > Math.min(first.length, namedOf(count));
  return (
    groupCount > groups.length ||
    groups.some(
      ({ subjectCount, subjects, resourceCount, resources }) =>
        isCut(subjectCount, subjects) || isCut(resourceCount, resources),
    )
  );
}

/** The number of users in a group, which is known if no other group has the same change. */
function usersOf({ change }: EffectGroup, { gained, lost, groups, groupCount }: Effect): number | undefined {
  const isOnly = groupCount === groups.length && groups.filter((group) => group.change === change).length === 1;
  return isOnly ? (change === "gained" ? gained : lost).users : undefined;
}

function formatCounts(change: "gained" | "lost", counts: Counts, tense: "planned" | "made"): string {
  const { users, devices, sites, resources, internet, pairs } = counts;
  if (pairs === 0) return t(`records.effect.${tense}.${change}Nothing`);
  const who = [
    ...(users > 0 ? [t("records.effect.users", { count: users })] : []),
    ...(devices > 0 ? [t("records.effect.devices", { count: devices })] : []),
    ...(sites > 0 ? [t("records.effect.sites", { count: sites })] : []),
  ];
  const what = [
    ...(resources > 0 ? [t("records.effect.resources", { count: resources })] : []),
    ...(internet ? [t("common.theInternet")] : []),
  ];
  const values = { who: formatList(who), what: formatList(what) };
  return tense === "made"
    ? t(`records.effect.made.${change}`, values)
    : t(`records.effect.planned.${change}`, { ...values, count: users + devices + sites });
}

/** The resources that the table names, by name. */
function namedResources({ resources, resourceCount }: EffectGroup) {
  return [...resources].sort((one, other) => compareText(one.name, other.name)).slice(0, namedOf(resourceCount));
}

/** The first names, the number of the others, and the internet. */
function partsOfResources(group: EffectGroup): readonly string[] {
  const { resourceCount, internet } = group;
  const named = namedResources(group).map(({ name }) => name);
  const more = resourceCount - named.length;
  return [
    ...named,
    ...(more > 0 ? [t("records.effect.moreResources", { count: more })] : []),
    ...(internet ? [t("common.theInternet")] : []),
  ];
}

/** The resources of a change that was made. A planned one is in a dialog, which a link would leave. */
function LinkedResources({ group }: { readonly group: EffectGroup }) {
  const records = namedResources(group).map(({ id, name }) => ({ path: "resources", id, name }) as const);
  return <Linked text={formatCellList(partsOfResources(group))} records={records} />;
}

/** A text in which the names of records are links. */
function Linked({ text, records }: SubjectLine) {
  const parts: ReactNode[] = [];
  let rest = text;
  for (const { path, id, name } of records) {
    const start = rest.indexOf(name);
    if (start === -1) continue;
    const after = rest.slice(start + name.length);
    const mark = /^[,:]?/.exec(after)?.[0] ?? "";
    const before = rest.slice(0, start);
    // A line does not end with the "and".
    const bound = /\p{L}+\u00a0$/u.exec(before)?.[0] ?? "";
    parts.push(
      before.slice(0, before.length - bound.length),
      <span key={id} className="record-name">
        {bound}
        <RecordLink to={`/${path}/${id}`}>{name}</RecordLink>
        {mark}
      </span>,
    );
    rest = after.slice(mark.length);
  }
  return [...parts, rest];
}
