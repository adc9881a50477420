/** The page of one record: breadcrumbs, title, status, actions and panels. */
import { GatehouseError } from "@gatehouse/client/errors";
import { Anchor, Breadcrumbs, Button, Group, Paper, Skeleton, Stack, Text, Title } from "@mantine/core";
import { Link, useParams } from "@tanstack/react-router";
import { type ReactNode, useEffect } from "react";
import { PageHead } from "../app/page-head.tsx";
import { ProblemNotice } from "../app/problem-notice.tsx";
import { usePermission } from "../app/session.ts";
import type { records as messages } from "../messages/en/records.ts";
import { capitalize } from "../messages/format.ts";
import { t } from "../messages/i18n.ts";
import { Absent } from "./absent.tsx";
import { Intro } from "./intro.tsx";
import { ValueNote } from "./value-note.tsx";

/** The first part of the path of the records' pages. */
type Kind = keyof typeof messages.notFound.kinds;

interface RecordPageProps {
  /** The list that the record belongs to. */
  readonly list: { readonly to: `/${Kind}`; readonly title: string };
  /** Undefined while the record loads. */
  readonly title: string | undefined;
  readonly status?: ReactNode;
  readonly actions?: ReactNode;
  /** The address of the access graph with this record in focus. */
  readonly graph?: string | undefined;
  /** Ids of other records whose events belong to the history of this one. */
  readonly historyOf?: readonly string[] | undefined;
  readonly error: unknown;
  /** Whether the record does not exist, if no error says so. */
  readonly isMissing?: boolean;
  readonly retry: () => unknown;
  readonly children: ReactNode;
}

export function RecordPage({
  list,
  title,
  status,
  actions,
  graph,
  historyOf = [],
  error,
  isMissing = error instanceof GatehouseError && error.status === 404,
  retry,
  children,
}: RecordPageProps) {
  const { id = "" } = useParams({ strict: false });
  const canReadEvents = usePermission("events:read");
  const [canDecide, canReadPolicies] = [usePermission("decisions:read"), usePermission("policies:read")];
  const kind = t(`records.notFound.kinds.${list.to.slice(1) as Kind}`); // the path is a slash and the kind
  const missing = capitalize(t("records.notFound.title", { kind }));
  useEffect(() => {
    document.title = t("common.documentTitle", { title: title ?? (isMissing ? missing : list.title) });
  }, [title, list.title, isMissing, missing]);
  return (
    <Stack>
      <Group justify="space-between" wrap="nowrap" gap="xs">
        <Breadcrumbs className="trail">
          <Anchor component={Link} to={list.to}>
            {list.title}
          </Anchor>
          <Text c="dimmed" truncate>
            <bdi>{title ?? (isMissing ? missing : "…")}</bdi>
          </Text>
        </Breadcrumbs>
        <Group gap="md" wrap="nowrap">
          {canDecide && canReadPolicies && graph !== undefined && (
            <Anchor component={Link} to={graph} size="sm">
              {t("records.links.graph")}
            </Anchor>
          )}
          {canReadEvents && hasEvents(list.to) && title !== undefined && (
            <Anchor component={Link} to={`/events?target.id=${[id, ...historyOf].join()}`} size="sm">
              {t("records.links.history")}
            </Anchor>
          )}
        </Group>
      </Group>
      {isMissing ? (
        <Stack align="flex-start">
          <PageHead title={missing}>{t("records.notFound.text", { kind })}</PageHead>
          <Button component={Link} to={list.to}>
            {t("records.notFound.back", { list: list.title })}
          </Button>
        </Stack>
      ) : error !== null && error !== undefined ? (
        <ProblemNotice error={error} retry={retry} />
      ) : title === undefined ? (
        <Stack aria-busy>
          <Skeleton height={28} width={260} />
          <Skeleton height={160} />
        </Stack>
      ) : (
        <>
          <Group justify="space-between">
            <Group gap="md">
              <Title order={1} style={{ overflowWrap: "anywhere" }}>
                <bdi>{title}</bdi>
              </Title>
              {status}
            </Group>
            <Group gap="xs" className="actions">
              {actions}
            </Group>
          </Group>
          {children}
        </>
      )}
    </Stack>
  );
}

/** No event concerns another event, and roles are the same in every tenant. */
function hasEvents(list: string): boolean {
  return list !== "/events" && list !== "/roles";
}

interface PanelProps {
  readonly title: string;
  /** An introduction below the title. On a narrow screen, it stands before the buttons. */
  readonly about?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

export function Panel({ title, about, actions, children }: PanelProps) {
  return (
    <Paper withBorder p="md" component="section" aria-label={title} className="panel">
      <Group justify="space-between" gap="xs" className="panel-head">
        <Title order={2}>{title}</Title>
        {about !== undefined && (
          <div className="panel-about">
            <Intro>{about}</Intro>
          </div>
        )}
        {actions}
      </Group>
      {children}
    </Paper>
  );
}

export interface Fact {
  readonly label: string;
  readonly value: ReactNode;
  /** Shown if there is no value. A dash by default. */
  readonly none?: string;
  /** An explanation below the value. */
  readonly note?: ReactNode;
}

/** The fields of a record as a list of terms and values. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl className="fields">
      {facts.map(({ label, value, none, note }, index) => (
        <div key={label} data-starts-row={areTimes(facts[index], facts[index + 1]) || undefined}>
          <dt>{label}</dt>
          <dd>
            {isAbsent(value) ? <Absent>{none}</Absent> : value}
            {note !== undefined && note !== false && <ValueNote>{note}</ValueNote>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function isAbsent(value: ReactNode): boolean {
  return value === "" || value === undefined || value === null || value === false;
}

/** Whether two facts are the creation and the last change, which stand side by side. */
function areTimes(first: Fact | undefined, second: Fact | undefined): boolean {
  return first?.label === t("common.created") && second?.label === t("common.changed");
}

/** A remark on the whole content of a panel. */
export function PanelNote({ children }: { readonly children: ReactNode }) {
  return (
    <Text size="sm" c="dimmed" mt="md">
      {children}
    </Text>
  );
}
