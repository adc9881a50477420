/** What the page of every record has: where one is, what it is called, what may be done, and what there is to know. */
import { Anchor, Breadcrumbs, Group, Paper, Skeleton, Stack, Text, Title } from "@mantine/core";
import { Link, useParams } from "@tanstack/react-router";
import { type ReactNode, useEffect } from "react";
import { ProblemNotice } from "../app/problem-notice.tsx";
import { useMay } from "../app/session.ts";

interface RecordPageProps {
  /** The list that it is from. */
  readonly list: { readonly to: string; readonly title: string };
  /** Undefined while it is read. */
  readonly title: string | undefined;
  readonly status?: ReactNode;
  readonly actions?: ReactNode;
  /** Where the graph shows what leads through it. */
  readonly graph?: string | undefined;
  readonly error: unknown;
  readonly retry: () => unknown;
  readonly children: ReactNode;
}

export function RecordPage({ list, title, status, actions, graph, error, retry, children }: RecordPageProps) {
  const { id = "" } = useParams({ strict: false });
  const mayReadEvents = useMay("events:read");
  const [mayDecide, mayReadPolicies] = [useMay("decisions:read"), useMay("policies:read")];
  useEffect(() => {
    document.title = `${title ?? list.title} · Gatehouse`;
  }, [title, list.title]);
  return (
    <Stack>
      <Group justify="space-between" wrap="nowrap" gap="xs">
        <Breadcrumbs className="trail">
          <Anchor component={Link} to={list.to}>
            {list.title}
          </Anchor>
          <Text c="dimmed" truncate>
            {title ?? "…"}
          </Text>
        </Breadcrumbs>
        <Group gap="md" wrap="nowrap">
          {mayDecide && mayReadPolicies && graph !== undefined && (
            <Anchor component={Link} to={graph} size="sm">
              Graph
            </Anchor>
          )}
          {mayReadEvents && hasEvents(list.to) && title !== undefined && (
            <Anchor component={Link} to={`/events?target.id=${id}`} size="sm">
              History
            </Anchor>
          )}
        </Group>
      </Group>
      {error !== null && error !== undefined ? (
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
                {title}
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

/** Events are not about themselves, and roles are the same in every tenant. */
function hasEvents(list: string): boolean {
  return list !== "/events" && list !== "/roles";
}

export function Panel({
  title,
  actions,
  children,
}: {
  readonly title: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}) {
  return (
    <Paper withBorder p="md" component="section" aria-label={title}>
      <Group justify="space-between" mb="sm">
        <Title order={2}>{title}</Title>
        {actions}
      </Group>
      {children}
    </Paper>
  );
}

export interface Fact {
  readonly label: string;
  readonly value: ReactNode;
}

/** What is known of a record. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl className="fields">
      {facts.map(({ label, value }) => (
        <div key={label} style={{ display: "contents" }}>
          <dt>{label}</dt>
          <dd>
            {value === "" || value === undefined || value === null || value === false ? (
              <Text c="dimmed">–</Text>
            ) : (
              value
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}
