/**
 * The lines of a lane as an SVG path. Each part is drawn once, so that all lines have the same weight. Lines that meet
 * have a dot. A line that crosses others has gaps.
 */
import type { Edge } from "./graph-model.ts";
import type { RoutedLane } from "./graph-routes.ts";

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface LanePicture {
  readonly path: string;
  /** The points at which lines meet. */
  readonly dots: readonly Point[];
  /** The ends of the lines at nodes. */
  readonly tips: readonly Point[];
}

/** Pixels. A gap is on both sides of the crossing line. Shorter pieces between gaps are omitted. */
const sizes = { corner: 8, leastCorner: 2, gap: 3.5, leastPiece: 4 } as const;

/** The horizontal part of a line, between a node and the vertical part. */
interface Arm extends Point {
  readonly side: "left" | "right";
}

/** @param edges edges of the lane, from each of their sources to each of their targets */
export function drawLane(lane: RoutedLane, edges: readonly Edge[]): LanePicture {
  const { left, x, starts, ends, rights } = lane;
  const targets = [...new Set(edges.map(({ to }) => to))];
  const tips = targets.map((to) => ({ x: rights.get(to) ?? left, y: ends.get(to) ?? 0 }));
  if (x === undefined) {
    return { path: tips.map((tip) => `M${left} ${tip.y}H${tip.x}`).join(""), dots: [], tips };
  }
  const sources = [...new Set(edges.map(({ from }) => from))];
  const arms: readonly Arm[] = [
    ...sources.map((from) => ({ side: "left" as const, x: left, y: starts.get(from) ?? 0 })),
    ...tips.map((tip) => ({ side: "right" as const, ...tip })),
  ].sort((one, other) => one.y - other.y);
  const [top, bottom] = [arms[0]?.y ?? 0, arms.at(-1)?.y ?? 0];
  // Arms that meet at the end of the vertical part have no corner.
  const corners = [top, bottom].map((y) => (arms.filter((arm) => arm.y === y).length === 1 ? y : undefined));
  const others = arms.filter(({ y }) => !corners.includes(y));
  return {
    path: [
      ...(bottom > top ? [trunk(x, arms, corners, lane.crossed)] : []),
      ...others.map((arm) => (arm.side === "left" ? `M${arm.x} ${arm.y}H${x}` : `M${x} ${arm.y}H${arm.x}`)),
    ].join(""),
    dots: (bottom > top ? [...new Set(others.map(({ y }) => y))] : []).map((y) => ({ x, y })),
    tips,
  };
}

/** The vertical part, from its upper to its lower corner. */
function trunk(x: number, arms: readonly Arm[], corners: readonly (number | undefined)[], crossed: readonly number[]) {
  const [first, last] = [arms[0], arms.at(-1)];
  if (first === undefined || last === undefined) return "";
  const heights = [...arms.map(({ y }) => y), ...crossed];
  const radiusAt = (y: number) => {
    const room = Math.min(...heights.filter((each) => each !== y).map((each) => Math.abs(each - y)));
    return Math.min(sizes.corner, Math.abs(last.y - first.y) / 2, Math.max(sizes.leastCorner, room - sizes.gap));
  };
  const [upper, lower] = corners.map((y) => (y === undefined ? 0 : radiusAt(y)));
  const [from, to] = [first.y + (upper ?? 0), last.y - (lower ?? 0)];
  const begin =
    upper === 0
      ? `M${x} ${from}`
      : `M${first.x} ${first.y}H${besideCorner(first, x, upper)}Q${x} ${first.y} ${x} ${from}`;
  const end = lower === 0 ? "" : `Q${x} ${last.y} ${besideCorner(last, x, lower)} ${last.y}H${last.x}`;
  const gaps = gapsBetween(from, to, crossed).map(([above, below]) => `V${above}M${x} ${below}`);
  return `${begin}${gaps.join("")}V${to}${end}`;
}

const besideCorner = ({ side }: Arm, x: number, radius = 0) => (side === "left" ? x - radius : x + radius);

/** The gaps of a line, from above. */
function gapsBetween(from: number, to: number, crossed: readonly number[]): readonly (readonly [number, number])[] {
  const gaps: [number, number][] = [];
  for (const y of [...crossed].sort((one, other) => one - other)) {
    const [above, below] = [Math.max(from, y - sizes.gap), Math.min(to, y + sizes.gap)];
    if (above >= below) continue;
    const previous = gaps.at(-1);
    if (previous !== undefined && above - previous[1] < sizes.leastPiece) previous[1] = below;
    else gaps.push([above, below]);
  }
  return gaps;
}
