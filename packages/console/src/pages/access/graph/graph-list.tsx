/** The content of the graph as a list, for narrow screens and for people who prefer text. */
import { Group, Pagination, Paper, Stack, Text } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { Fragment, type ReactNode } from "react";
import { defaultPageSize as pageSize } from "../../../lists/list-preferences.ts";
import { t } from "../../../messages/i18n.ts";
import { Absent, absent } from "../../../records/absent.tsx";
import { PolicyRows } from "../../../records/policy-rows.tsx";
import { RecordLink } from "../../../records/record-link.tsx";
import { PolicyAction } from "../../../records/status.tsx";
import { byName, distinct } from "./graph-groups.ts";
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
          {pages === 1
            ? t("lists.results", { count: paths.length })
            : t("lists.range", {
                first: (current - 1) * pageSize + 1,
                last: (current - 1) * pageSize + shown.length,
                total: paths.length,
              })}
        </Text>
        {pages > 1 && (
          <Pagination
            total={pages}
            value={current}
            onChange={turnTo}
            size="sm"
            getControlProps={(control) => ({ "aria-label": t(`lists.pages.${control}`) })}
            getItemProps={(number) => ({ "aria-label": t("lists.page", { number }) })}
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
    <Paper withBorder className="panel">
      <PolicyRows
        label={t("graph.list.label")}
        last={{ title: t("graph.list.gateways") }}
        rows={paths.map((path) => ({
          key: path.policy.key,
          policy: <PolicyName path={path} />,
          action: <PolicyAction allows={!path.denies} conditions={path.conditions} />,
          subjects: <Leaves leaves={path.sources} none={t("graph.list.noSubjects")} />,
          resources: <Leaves leaves={path.resources} none={t("graph.list.noResources")} />,
          last: <Through path={path} />,
        }))}
      />
    </Paper>
  );
}

function Cards({ paths }: Rows) {
  return (
    <Stack component="ul" gap="sm" p={0} m={0} style={{ listStyle: "none" }} aria-label={t("graph.list.label")}>
      {paths.map((path) => (
        <Paper key={path.policy.key} component="li" withBorder p="sm">
          <Stack gap={4} align="flex-start" mb={6}>
            <PolicyName path={path} />
            <PolicyAction allows={!path.denies} conditions={path.conditions} />
          </Stack>
          <dl className="fields">
            <Fact
              label={t("graph.list.subjects")}
              value={<Leaves leaves={path.sources} none={t("graph.list.noSubjects")} />}
            />
            <Fact
              label={t("graph.list.resources")}
              value={<Leaves leaves={path.resources} none={t("graph.list.noResources")} />}
            />
            <Fact label={t("graph.list.gateways")} value={<Through path={path} />} />
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
    <span className="record-name own-name">
      {place}. <RecordLink to={`/policies/${policy.id}`}>{policy.name}</RecordLink>
    </span>
  );
}

function Through({ path: { denies, resources, gatewaysOf } }: { readonly path: Path }) {
  if (denies) return absent;
  return <Leaves leaves={distinct(resources.flatMap(gatewaysOf)).sort(byName)} none={t("graph.list.noGateway")} />;
}

const pageOf = {
  group: "groups",
  user: "users",
  device: "devices",
  resource: "resources",
  gateway: "gateways",
  policy: "policies",
} as const;
/** The number of names in one cell. */
const mostNames = 8;

function Leaves({ leaves, none }: { readonly leaves: readonly Leaf[]; readonly none: string }) {
  if (leaves.length === 0) return <Absent>{none}</Absent>;
  const shown = leaves.slice(0, mostNames);
  return (
    <>
      {shown.map(({ key, kind, id, name }, index) => (
        <Fragment key={key}>
          {index > 0 && " "}
          <span className="record-name">
            {kind === "words" ? name : <RecordLink to={`/${pageOf[kind]}/${id}`}>{name}</RecordLink>}
            {index < shown.length - 1 && ","}
          </span>
        </Fragment>
      ))}
      {leaves.length > shown.length && ` ${t("common.andMore", { count: leaves.length - shown.length })}`}
    </>
  );
}
