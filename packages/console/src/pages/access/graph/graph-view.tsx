/** Subjects → policies → resources → gateways, as a graph or as a list. */
import { Button, Group, Paper, SegmentedControl, Skeleton, Stack, Text } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useEffect, useMemo, useRef } from "react";
import { paged, whole } from "../../../app/api.ts";
import { ProblemNotice } from "../../../app/problem-notice.tsx";
import { usePermission } from "../../../app/session.ts";
import { t } from "../../../messages/i18n.ts";
import { RichText } from "../../../messages/rich-text.tsx";
import { allPoliciesQuery } from "../../../records/all-policies.ts";
import { FocusSelect } from "./focus-select.tsx";
import { wideScreen } from "./graph-layout.ts";
import { GraphList } from "./graph-list.tsx";
import { type AccessGraph, buildGraph, type Members, mostAtOnce } from "./graph-model.ts";
import { type Opened, openOrClose, turnTo } from "./graph-opened.ts";
import { allUsers, type Focus, leafOf, narrowPaths, type Path, readGateways, readPaths } from "./graph-paths.ts";
import { useDecided } from "./use-graph-decisions.ts";
import { useGraphFocus } from "./use-graph-focus.ts";
import {
  accessTypes,
  type GraphChange,
  type GraphQuestion,
  shownChoices,
  useGraphQuestion,
} from "./use-graph-question.ts";

const GraphCanvas = lazy(async () => ({ default: (await import("./graph-canvas.tsx")).GraphCanvas }));
const gatewayList = whole("/tenants/gateways");
const userList = paged("/tenants/users");

export function GraphView() {
  const canReadPolicies = usePermission("policies:read");
  const canReadGateways = usePermission("gateways:read");
  const { question, change } = useGraphQuestion();
  const { type, shown, focus: focusKey } = question;
  const policies = useQuery({ ...allPoliciesQuery(type), enabled: canReadPolicies });
  const known = useQuery({
    queryKey: [gatewayList.path, "list", undefined],
    enabled: canReadGateways,
    queryFn: ({ signal }) => gatewayList.read(signal),
  });
  const gateways = useMemo(() => readGateways(known.data ?? []), [known.data]);
  const all = useMemo(() => readPaths(policies.data ?? [], gateways), [policies.data, gateways]);
  const { focus, error: focusError, isPending } = useGraphFocus(focusKey, all, gateways.all);
  const narrowed = useMemo(() => ({ focus, paths: narrowPaths(all, shown, focus) }), [all, shown, focus]);
  // The previous graph stays until the filter is loaded, so that it keeps the keyboard focus.
  const kept = useRef<typeof narrowed>(undefined);
  useEffect(() => {
    if (!isPending) kept.current = narrowed;
  }, [narrowed, isPending]);
  const { paths, focus: drawnFocus } = isPending && kept.current !== undefined ? kept.current : narrowed;
  if (!canReadPolicies) return <Notice text={t("graph.notPermitted")} />;
  const error = policies.error ?? known.error ?? focusError;
  const isWaiting =
    policies.data === undefined ||
    (canReadGateways && known.data === undefined) ||
    (isPending && kept.current === undefined);
  const inactive = (policies.data ?? []).filter(({ active }) => !active).length;
  return (
    <Stack>
      <Group gap="sm">
        <SegmentedControl
          aria-label={t("graph.accessType")}
          className="views"
          value={type}
          onChange={(value) => change({ type: value })}
          data={accessTypes.map(({ value, label }) => ({ value, label }))}
        />
        <SegmentedControl
          aria-label={t("graph.show")}
          value={shown}
          onChange={(value) => change({ shown: value })}
          data={shownChoices.map(({ value, label }) => ({ value, label }))}
        />
        <FocusSelect
          paths={all}
          gateways={gateways.all}
          focus={focus?.leaf}
          onChange={(key) => change({ focus: key ?? "" })}
        />
      </Group>
      {error !== null ? (
        <ProblemNotice error={error} retry={() => Promise.all([policies.refetch(), known.refetch()])} />
      ) : isWaiting ? (
        <Skeleton height={420} aria-busy />
      ) : (
        <>
          {drawnFocus !== undefined && (
            <FocusBar focus={drawnFocus} paths={paths} question={question} change={change} />
          )}
          {paths.length === 0 ? (
            <Notice text={emptyText(question, drawnFocus)} />
          ) : (
            <Drawn paths={paths} gateways={gateways} focus={drawnFocus} question={question} change={change} />
          )}
          <Text size="sm" c="dimmed">
            {t("graph.explanation")}
            {shown === "denied" && ` ${t("graph.explanationDenied")}`}
            {inactive > 0 && ` ${t("graph.inactive", { count: inactive })}`}
            {!canReadGateways && ` ${t("graph.notPermittedGateways")}`}
          </Text>
        </>
      )}
    </Stack>
  );
}

function emptyText({ shown }: GraphQuestion, focus: Focus | undefined): string {
  return focus === undefined ? t(`graph.empty.${shown}`) : t(`graph.empty.${shown}For`, { name: focus.leaf.name });
}

function Notice({ text }: { readonly text: string }) {
  return (
    <Paper withBorder p="xl">
      <Text ta="center" c="dimmed">
        {text}
      </Text>
    </Paper>
  );
}

interface DrawnProps {
  readonly paths: readonly Path[];
  readonly gateways: ReturnType<typeof readGateways>;
  readonly focus: Focus | undefined;
  readonly question: GraphQuestion;
  readonly change: (change: GraphChange) => void;
}

function Drawn({ paths, gateways, focus, question, change }: DrawnProps) {
  const { type, shown, opened, form, page } = question;
  const isWide = useMediaQuery(wideScreen, undefined, { getInitialValueInEffect: false });
  const navigate = useNavigate();
  const members = useMembers(opened);
  const said = useMemo(
    () => buildGraph({ paths, gateways, focus, opened, members }),
    [paths, gateways, focus, opened, members],
  );
  const graph = useDecided(said, focus);
  const drawn = form ?? (isWide ? "graph" : "list");
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <SegmentedControl
          size="xs"
          aria-label={t("graph.form")}
          value={drawn}
          onChange={(value) => change({ form: value })}
          data={[
            { value: "graph", label: t("graph.forms.graph") },
            { value: "list", label: t("graph.forms.list") },
          ]}
        />
        {drawn === "graph" && <Legend hasMuted={focus === undefined && graph.columns.gateway.length > 0} />}
      </Group>
      {drawn === "list" ? (
        <GraphList paths={paths} page={page} turnTo={(next) => change({ page: next })} />
      ) : (
        <Suspense fallback={<Skeleton height={420} aria-busy />}>
          <GraphCanvas
            graph={graph}
            about={`${type} ${shown} ${focus?.leaf.key ?? ""}`}
            focusKey={focus?.leaf.key ?? ""}
            openOrClose={(owner) => change({ opened: openOrClose(opened, owner) })}
            turnTo={(owner, next) => change({ opened: turnTo(opened, owner, next) })}
            focusOn={(key) => {
              const asked = focus === undefined ? undefined : explanationOf(graph, focus, key);
              if (asked === undefined) change({ focus: key });
              else void navigate({ to: "/access", search: asked });
            }}
          />
        </Suspense>
      )}
    </Stack>
  );
}

/** The query that explains whether the selected user or device can reach a resource. */
function explanationOf(graph: AccessGraph, { leaf }: Focus, key: string): Record<string, string> | undefined {
  const { id, reached } = graph.columns.resource.find((node) => node.key === key) ?? {};
  if (id === undefined || reached === undefined) return undefined;
  const device = reached.deviceId === undefined ? {} : { device: reached.deviceId };
  return { view: "can", [leaf.kind]: leaf.id ?? "", ...device, resource: id };
}

/** The users of the expanded group. */
function useMembers(opened: Opened): Members | undefined {
  const canRead = usePermission("users:read");
  const [group, page = 0] = [...opened].find(([key]) => key.startsWith("group:")) ?? [];
  const id = group?.slice("group:".length) ?? "";
  const { data } = useQuery({
    queryKey: ["graph", "members", id, page],
    enabled: canRead && id !== "",
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      userList.read({ "filter[groups.id]": id, sort: "email", limit: mostAtOnce, offset: page * mostAtOnce }, signal),
  });
  return useMemo(
    () =>
      data === undefined || group === undefined
        ? undefined
        : {
            group,
            total: data.total,
            users: data.data.map(({ id: user, email }) => leafOf("user", user, email ?? user)),
          },
    [data, group],
  );
}

const pages = {
  group: "groups",
  user: "users",
  device: "devices",
  resource: "resources",
  gateway: "gateways",
  policy: "policies",
} as const;

interface FocusBarProps {
  readonly focus: Focus;
  readonly paths: readonly Path[];
  readonly question: GraphQuestion;
  readonly change: (change: GraphChange) => void;
}

/** The filter of the graph, with links to related pages. */
function FocusBar({ focus: { leaf }, paths, question, change }: FocusBarProps) {
  const { kind, id = "", key, name } = leaf;
  const denying = paths.filter(({ denies }) => denies).length;
  const isOpen = question.opened.has(key);
  const isSubject = kind === "group" || kind === "user" || kind === "device";
  const includesAll = isSubject && paths.some(({ sources }) => sources.some((source) => source.key === allUsers.key));
  return (
    <Paper withBorder p="sm" component="section" aria-label={t("graph.focus.region")}>
      <Group justify="space-between" gap="sm">
        <Text style={{ overflowWrap: "anywhere" }}>
          <RichText
            message={includesAll ? "graph.focus.summaryWithAll" : "graph.focus.summary"}
            values={{
              allows: t("graph.focus.allows", { count: paths.length - denying }),
              denies: t("graph.focus.denies", { count: denying }),
            }}
            elements={{ name: <strong>{name}</strong> }}
          />
        </Text>
        <Group gap="xs">
          {kind === "group" && question.form !== "list" && (
            <Button size="xs" variant="default" onClick={() => change({ opened: openOrClose(question.opened, key) })}>
              {isOpen ? t("graph.focus.hideUsers") : t("graph.focus.showUsers")}
            </Button>
          )}
          {(kind === "user" || kind === "device") && (
            <Button size="xs" variant="default" component={Link} to={`/access?view=what&${kind}=${id}`}>
              {t("graph.focus.what")}
            </Button>
          )}
          {kind === "resource" && (
            <Button size="xs" variant="default" component={Link} to={`/access?view=who&resource=${id}`}>
              {t("graph.focus.who")}
            </Button>
          )}
          {kind !== "words" && (
            <Button size="xs" variant="default" component={Link} to={`/${pages[kind]}/${id}`}>
              {t(`graph.focus.open.${kind}`)}
            </Button>
          )}
          <Button size="xs" variant="default" onClick={() => change({ focus: "" })}>
            {t("graph.focus.clear")}
          </Button>
        </Group>
      </Group>
    </Paper>
  );
}

interface LegendProps {
  /** Whether lines to gateways are muted. */
  readonly hasMuted: boolean;
}

function Legend({ hasMuted }: LegendProps) {
  return (
    <Group gap="md" aria-hidden>
      <LegendEntry name={t("graph.legend.allowed")} color="var(--graph-allow)">
        <path d="M0 5 H34" />
      </LegendEntry>
      <LegendEntry name={t("graph.legend.denied")} color="var(--graph-deny)">
        <path d="M0 5 H28" strokeDasharray="6 4" />
        <path d="M24 1 L32 9 M32 1 L24 9" />
      </LegendEntry>
      {hasMuted && (
        <LegendEntry name={t("graph.legend.gateways")} color="var(--graph-muted)">
          <path d="M0 5 H34" />
        </LegendEntry>
      )}
    </Group>
  );
}

interface LegendEntryProps {
  readonly name: string;
  readonly color: string;
  /** The lines. */
  readonly children: ReactNode;
}

function LegendEntry({ name, color, children }: LegendEntryProps) {
  return (
    <Group gap={6}>
      <svg width={34} height={10} aria-hidden="true" stroke={color} strokeWidth={1.5} fill="none">
        {children}
      </svg>
      <Text size="xs">{name}</Text>
    </Group>
  );
}
