/** The edges of the graph as React Flow draws them. */
import { BaseEdge, type EdgeProps, type Edge as FlowEdge } from "@xyflow/react";
import type { Edge } from "./graph-model.ts";
import type { Line } from "./graph-routes.ts";

/** React Flow draws every edge on its own. The layout knows the lines of all edges. */
function GraphLine({ data, style, markerEnd }: EdgeProps) {
  return (
    <BaseEdge
      path={String(data?.path)}
      interactionWidth={0}
      {...(style === undefined ? {} : { style })}
      {...(markerEnd === undefined ? {} : { markerEnd })}
    />
  );
}

export const edgeTypes = { line: GraphLine };

/** Returns the previous object for an unchanged edge, so that React Flow renders only changed edges. */
export function cachedEdges(lines: ReadonlyMap<Edge, Line>) {
  const cached = new WeakMap<Edge, Map<string, FlowEdge>>();
  return (edge: Edge, appearance: string): FlowEdge => {
    const variants = cached.get(edge) ?? new Map<string, FlowEdge>();
    cached.set(edge, variants);
    const { from, to, denies, count } = edge;
    const { path = "", dashOffset = 0 } = lines.get(edge) ?? {};
    const known = variants.get(appearance) ?? {
      id: `${from} ${to} ${denies}`,
      type: "line",
      source: from,
      target: to,
      data: { path },
      className: `${denies ? "denies" : "allows"} ${appearance}`,
      style: {
        strokeWidth: Math.min(3, 1.25 + Math.log10(count) / 2),
        strokeDashoffset: dashOffset,
      },
      ...(denies ? { markerEnd: "access-denied" } : {}),
      ariaRole: "presentation",
      domAttributes: { "aria-hidden": true },
    };
    variants.set(appearance, known);
    return known;
  };
}
