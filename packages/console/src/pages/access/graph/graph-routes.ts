/**
 * The routes of edges. The edges of nodes that lead to the same nodes share one vertical lane, and end at a point of
 * their own. A reader can therefore follow each line, even between columns with many edges.
 */
import type { AccessGraph, Edge } from "./graph-model.ts";

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Nodes that lead to the same nodes, and their edges. */
export interface Lane {
  readonly denies: boolean;
  readonly edges: readonly Edge[];
}

/** Pixels. The cross at the end of a denied line needs more room. */
const room = { besideNode: 14, besideCross: 22 } as const;
/** The space between columns without lanes, and between lanes. */
const leastGap = 36;
const mostApart = 14;
/** The space between the ends of lines at one node, and between the outer ends and its corners. */
const ends = { apart: 9, inset: 10 } as const;
/** Horizontal lines that are closer look like one line. */
const leastApart = 4;

/** The lanes between two columns. */
export function lanesBetween(edges: AccessGraph["edges"], from: ReadonlySet<string>): readonly Lane[] {
  const bySource = new Map<string, Edge[]>();
  for (const edge of edges) {
    if (!from.has(edge.from)) continue;
    const key = `${edge.from} ${edge.denies}`;
    const known = bySource.get(key);
    if (known === undefined) bySource.set(key, [edge]);
    else known.push(edge);
  }
  const alike = new Map<string, { denies: boolean; edges: Edge[] }>();
  for (const own of bySource.values()) {
    const denies = own[0]?.denies === true;
    const targets = own.map(({ to }) => to).sort();
    const key = `${denies} ${targets.join(" ")}`;
    const known = alike.get(key);
    if (known === undefined) alike.set(key, { denies, edges: own });
    else known.edges.push(...own);
  }
  return [...alike.values()];
}

interface Drawn extends Lane {
  /** The heights of the lines at the nodes, by the keys of the nodes. */
  readonly starts: ReadonlyMap<string, number>;
  readonly ends: ReadonlyMap<string, number>;
  readonly top: number;
  readonly bottom: number;
}

/** A lane with its position. */
export interface RoutedLane extends Drawn {
  /** The position at which its lines start. */
  readonly left: number;
  /** The position of its vertical part. Undefined if its only line is straight. */
  readonly x: number | undefined;
  /** The positions at which its lines end, by the keys of the nodes. */
  readonly rights: ReadonlyMap<string, number>;
  /** The heights at which lines of other lanes cross its vertical part. */
  readonly crossed: readonly number[];
}

const afterLanes = (lanes: readonly Lane[]) =>
  lanes.some(({ denies }) => denies) ? room.besideCross : room.besideNode;

/** Free space that columns with few lanes between them have in addition. */
const mostSpare = 60;

/**
 * The space between columns, which depends on the lanes and on the width of the screen, so that text keeps its size.
 *
 * @param between the lanes of each space
 */
export function gapsFor(between: readonly (readonly Lane[])[], width: number): readonly number[] {
  const least = between.map((lanes) => Math.max(leastGap, room.besideNode + afterLanes(lanes)));
  const steps = between.map(({ length }) => Math.max(0, length - 1));
  const [free, wanted] = [width - sum(least), sum(steps) * mostApart];
  const apart = Math.min(1, Math.max(0, free / Math.max(1, wanted))) * mostApart;
  const spare = Math.min(mostSpare, Math.max(0, (free - wanted) / Math.max(1, between.length)));
  return between.map((_, index) => (least[index] ?? 0) + (steps[index] ?? 0) * apart + spare);
}

/**
 * The routes of the edges between two columns.
 *
 * @param quiet the keys of nodes whose lines are usually not drawn, and cross nothing
 */
export function routeLanes(
  lanes: readonly Lane[],
  boxes: ReadonlyMap<string, Box>,
  quiet: ReadonlySet<string>,
): readonly RoutedLane[] {
  const drawn = drawEnds(lanes, boxes);
  const bent = order(drawn.filter(({ top, bottom }) => bottom - top > 1));
  const all = lanes.flatMap(({ edges }) => edges);
  const left = Math.max(...all.map(({ from }) => rightOf(boxes.get(from))));
  const right = Math.min(...all.map(({ to }) => boxes.get(to)?.x ?? Number.POSITIVE_INFINITY));
  const [first, last] = [left + room.besideNode, right - afterLanes(lanes)];
  const apart = Math.min(mostApart, (last - first) / Math.max(1, bent.length - 1));
  const placed = drawn.map((lane) => {
    const at = bent.indexOf(lane);
    const x = at < 0 ? undefined : (first + last) / 2 + (at - (bent.length - 1) / 2) * apart;
    return { ...lane, left, x, rights: new Map([...lane.ends.keys()].map((key) => [key, boxes.get(key)?.x ?? right])) };
  });
  return placed.map((lane) => ({
    ...lane,
    crossed: placed.flatMap((other) => (other === lane ? [] : heightsAt(lane, other, quiet))),
  }));
}

type Placed = Omit<RoutedLane, "crossed">;

/** The heights at which horizontal lines of another lane cross the vertical part of this one. */
function heightsAt({ x, top, bottom }: Placed, other: Placed, quiet: ReadonlySet<string>): readonly number[] {
  if (x === undefined) return [];
  const passing = [
    ...(other.x === undefined || other.x > x ? other.starts : []),
    ...(other.x !== undefined && other.x < x ? other.ends : []),
  ];
  return passing.flatMap(([key, height]) => (height > top && height < bottom && !quiet.has(key) ? [height] : []));
}

const rightOf = (box: Box | undefined) => (box === undefined ? 0 : box.x + box.width);

function drawEnds(lanes: readonly Lane[], boxes: ReadonlyMap<string, Box>): readonly Drawn[] {
  const started = lanes.map((lane) => ({
    ...lane,
    starts: startsOf(lane, lanes, boxes),
    ends: new Map<string, number>(),
  }));
  const arriving = new Map<string, typeof started>();
  // Lines from above end above the others.
  for (const lane of [...started].sort((one, other) => mean(one.starts) - mean(other.starts))) {
    for (const key of new Set(lane.edges.map(({ to }) => to))) arriving.set(key, [...(arriving.get(key) ?? []), lane]);
  }
  for (const [key, some] of arriving) {
    const box = boxes.get(key);
    if (box === undefined) continue;
    const room = box.height - 2 * ends.inset;
    const apart = Math.min(ends.apart, room / Math.max(1, some.length - 1));
    const slack = (room - (some.length - 1) * apart) / 2;
    const top = box.y + ends.inset + slack;
    const isClear = (shift: number) =>
      some.every(({ starts }, index) =>
        started.every(
          (other) =>
            other.starts === starts ||
            [...other.starts.values()].every((height) => Math.abs(height - top - index * apart - shift) >= leastApart),
        ),
      );
    // A line without a bend is the clearest. Otherwise, a line must not lie on one that starts at the same height.
    const straight = some.flatMap(({ starts }, index) =>
      [...starts.values()].map((height) => height - top - index * apart),
    );
    const shifts = [...straight.sort((one, other) => Math.abs(one) - Math.abs(other)), 0, leastApart, -leastApart];
    const shift = shifts.find((each) => Math.abs(each) <= slack && isClear(each)) ?? 0;
    some.forEach((lane, index) => {
      lane.ends.set(key, top + index * apart + shift);
    });
  }
  return started.map((lane) => {
    const heights = [...lane.starts.values(), ...lane.ends.values()];
    return { ...lane, top: Math.min(...heights), bottom: Math.max(...heights) };
  });
}

/** Lines start in the middle of a node. If some allow and others deny, they start side by side. */
function startsOf({ denies, edges }: Lane, lanes: readonly Lane[], boxes: ReadonlyMap<string, Box>) {
  const others = new Set(
    lanes.filter((lane) => lane.denies !== denies).flatMap((lane) => lane.edges.map(({ from }) => from)),
  );
  const starts = new Map<string, number>();
  for (const { from } of edges) {
    const box = boxes.get(from);
    const aside = others.has(from) ? (denies ? ends.apart / 2 : -ends.apart / 2) : 0;
    if (box !== undefined) starts.set(from, box.y + box.height / 2 + aside);
  }
  return starts;
}

function mean(heights: ReadonlyMap<string, number>): number {
  return sum([...heights.values()]) / Math.max(1, heights.size);
}

const sum = (numbers: readonly number[]) => numbers.reduce((all, each) => all + each, 0);

/** The lanes from left to right, with few crossings. */
function order(lanes: readonly Drawn[]): readonly Drawn[] {
  const ordered = [...lanes];
  for (let round = 0; round < ordered.length; round++) {
    let isChanged = false;
    for (let index = 1; index < ordered.length; index++) {
      const [left, right] = [ordered[index - 1], ordered[index]];
      if (left === undefined || right === undefined || crossings(left, right) <= crossings(right, left)) continue;
      [ordered[index - 1], ordered[index]] = [right, left];
      isChanged = true;
    }
    if (!isChanged) break;
  }
  return ordered;
}

function crossings(left: Drawn, right: Drawn): number {
  const inside = ({ top, bottom }: Drawn, heights: Iterable<number>) =>
    [...heights].filter((height) => height > top && height < bottom).length;
  return inside(left, right.starts.values()) + inside(right, left.ends.values());
}
