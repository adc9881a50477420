/** One allowed path, drawn: the subjects of a policy, the policy, the resource and its gateways. */
import { Skeleton, Stack, Text } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useMemo } from "react";
import { whole } from "../../../app/api.ts";
import { t } from "../../../messages/i18n.ts";
import { allPoliciesQuery } from "../../../records/all-policies.ts";
import { wideScreen } from "./graph-layout.ts";
import { GraphList } from "./graph-list.tsx";
import { buildGraph } from "./graph-model.ts";
import { narrowPaths, readGateways, readPaths } from "./graph-paths.ts";
import { useDecided } from "./use-graph-decisions.ts";
import { useGraphFocus } from "./use-graph-focus.ts";

const GraphCanvas = lazy(async () => ({ default: (await import("./graph-canvas.tsx")).GraphCanvas }));
const gatewayList = whole("/tenants/gateways");
const nothingOpened: ReadonlyMap<string, number> = new Map();

interface AccessPathProps {
  /** The subject as a key of the graph, such as `user:01980000-…`. */
  readonly subject: string;
  readonly resource: string;
  /** The policy that decides. */
  readonly policy: string;
}

export function AccessPath({ subject, resource, policy }: AccessPathProps) {
  const policies = useQuery(allPoliciesQuery("PRIVATE"));
  const known = useQuery({
    queryKey: [gatewayList.path, "list", undefined],
    queryFn: ({ signal }) => gatewayList.read(signal),
  });
  const gateways = useMemo(() => readGateways(known.data ?? []), [known.data]);
  const all = useMemo(
    () => readPaths(policies.data ?? [], gateways).filter((path) => path.policy.id === policy),
    [policies.data, gateways, policy],
  );
  const { focus } = useGraphFocus(subject, all, gateways.all);
  const { focus: destination } = useGraphFocus(`resource:${resource}`, all, gateways.all);
  const paths = useMemo(
    () =>
      focus === undefined || destination === undefined
        ? undefined
        : narrowPaths(narrowPaths(all, "allowed", focus), "allowed", destination),
    [all, focus, destination],
  );
  const drawn = useMemo(
    () => buildGraph({ paths: paths ?? [], gateways, focus, opened: nothingOpened, members: undefined }),
    [paths, gateways, focus],
  );
  const graph = useDecided(drawn, focus);
  const isWide = useMediaQuery(wideScreen, undefined, { getInitialValueInEffect: false });
  const navigate = useNavigate();
  if (policies.data === undefined || known.data === undefined || paths === undefined) {
    return <Skeleton height={200} aria-busy />;
  }
  if (paths.length === 0) return null;
  return (
    <Stack gap="xs" component="section" aria-label={t("graph.path")}>
      <Text fw={600}>{t("graph.path")}</Text>
      {isWide ? (
        <Suspense fallback={<Skeleton height={200} aria-busy />}>
          <div className="access-path">
            <GraphCanvas
              graph={graph}
              about={`${subject} ${resource} ${policy}`}
              focusKey={subject}
              openOrClose={() => undefined}
              turnTo={() => undefined}
              // The list validates its search itself.
              focusOn={(key) => void navigate({ to: "/access", search: { view: "graph", focus: key } as never })}
            />
          </div>
        </Suspense>
      ) : (
        <GraphList paths={paths} page={1} turnTo={() => undefined} />
      )}
    </Stack>
  );
}
