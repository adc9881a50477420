/** The current decisions for the visible resources, if the graph is filtered by one user or device. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api } from "../../../app/api.ts";
import { type Reached, readDecisions } from "./graph-decisions.ts";
import type { AccessGraph, Node } from "./graph-model.ts";
import type { Focus } from "./graph-paths.ts";

/** The batch limit of the evaluation API. */
const mostDecisions = 1_000;

/** The graph with decisions. Resources have no decision until the response arrives. */
export function useDecided(graph: AccessGraph, focus: Focus | undefined): AccessGraph {
  const { leaf, sourceKeys } = focus ?? {};
  const isPerson = leaf?.kind === "user" || leaf?.kind === "device";
  const resources = graph.columns.resource.filter(({ kind }) => kind === "resource").map(({ id = "" }) => id);
  const devices = leaf?.kind === "user" ? [...(sourceKeys ?? [])].filter((key) => key.startsWith("device:")) : [];
  const deviceChoices = [undefined, ...devices.map((key) => key.slice("device:".length))].slice(
    0,
    Math.max(1, Math.floor(mostDecisions / Math.max(1, resources.length))),
  );
  const { data } = useQuery<ReadonlyMap<string, Reached>>({
    queryKey: ["/access/v1/evaluations", leaf?.key, resources, deviceChoices],
    enabled: isPerson && resources.length > 0,
    placeholderData: (before, query) => (query?.queryKey[1] === leaf?.key ? before : undefined),
    queryFn: async ({ signal }) => {
      const answer = await api.post("/access/v1/evaluations", {
        signal,
        body: {
          subject: { type: leaf?.kind ?? "", id: leaf?.id ?? "" },
          action: { name: "connect" },
          evaluations: resources.flatMap((id) =>
            deviceChoices.map((deviceId) => ({
              resource: { type: "resource", id },
              ...(deviceId === undefined ? {} : { context: { deviceId } }),
            })),
          ),
        },
      });
      return "evaluations" in answer ? readDecisions(resources, deviceChoices, answer.evaluations) : new Map();
    },
  });
  return useMemo(() => {
    if (!isPerson || data === undefined) return graph;
    const resource = graph.columns.resource.map((node): Node => {
      const reached = data.get(node.id ?? "");
      return reached === undefined ? node : { ...node, reached, note: reached.words };
    });
    return { ...graph, columns: { ...graph.columns, resource } };
  }, [graph, isPerson, data]);
}
