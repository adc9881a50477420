/** The edges of the graph, lane by lane. */

import type { PlacedLane } from "./graph-layout.ts";
import type { Edge } from "./graph-model.ts";
import { drawLane, type Point } from "./lane-lines.ts";

/** From the lowest to the uppermost. */
const appearances = ["dim", "muted", "plain", "lit"] as const;
export type Appearance = (typeof appearances)[number];

interface GraphLinesProps {
  readonly lanes: readonly PlacedLane[];
  /** Undefined if the edge is not drawn. @param isServing whether the edge leads from a resource to a gateway */
  readonly appearanceOf: (edge: Edge, isServing: boolean) => Appearance | undefined;
}

export function GraphLines({ lanes, appearanceOf }: GraphLinesProps) {
  return (
    <svg className="graph-lines" width={1} height={1} aria-hidden="true">
      {appearances.map((appearance) =>
        lanes.map((lane, index) => {
          const edges = lane.edges.filter((edge) => appearanceOf(edge, lane.column === "resource") === appearance);
          // biome-ignore lint/suspicious/noArrayIndexKey: a lane has no other name
          return edges.length > 0 && <Lane key={`${appearance} ${index}`} {...{ lane, edges, appearance }} />;
        }),
      )}
    </svg>
  );
}

interface LaneProps {
  readonly lane: PlacedLane;
  readonly edges: readonly Edge[];
  readonly appearance: Appearance;
}

function Lane({ lane, edges, appearance }: LaneProps) {
  const { path, dots, tips } = drawLane(lane, edges);
  return (
    <g className="graph-line" data-denies={lane.denies} data-appearance={appearance} data-edges={edges.length}>
      <path className="graph-strokes" d={path} />
      {dots.map(({ x, y }) => (
        <circle key={y} cx={x} cy={y} r={3} />
      ))}
      {/* A policy denies access to resources, so only the lines to resources end in a cross. */}
      {lane.denies && lane.column === "policy" && <path d={tips.map(crossAt).join("")} />}
    </g>
  );
}

/** The dashes of the line may end before the cross, so a short line leads to it. */
const crossAt = ({ x, y }: Point) => `M${x - 16} ${y}h11M${x - 9} ${y - 4}l8 8m0 -8l-8 8`;
