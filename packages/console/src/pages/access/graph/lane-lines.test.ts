import { expect, test } from "vitest";
import { layOut } from "./graph-layout.ts";
import type { AccessGraph, Edge, Node } from "./graph-model.ts";
import { drawLane } from "./lane-lines.ts";

const node = (key: string, column: Node["column"]): Node => ({ key, column, kind: "words", name: key });
const edge = (from: string, to: string): Edge => ({ from, to, denies: false, count: 1 });

/** Resources r0, r1, … and gateways g0, g1, …, with these edges. */
function lanesOf(edges: readonly Edge[], resources: number, gateways: number) {
  const graph: AccessGraph = {
    columns: {
      subject: [],
      source: [],
      policy: [],
      resource: Array.from({ length: resources }, (_, index) => node(`r${index}`, "resource")),
      gateway: Array.from({ length: gateways }, (_, index) => node(`g${index}`, "gateway")),
    },
    edges,
  };
  return layOut(graph).lanes.map((lane) => ({ ...lane, ...drawLane(lane, lane.edges) }));
}

interface Stretch {
  readonly isVertical: boolean;
  /** The coordinate that is the same at both ends. */
  readonly at: number;
  readonly from: number;
  readonly to: number;
}

/** The straight parts of a path. */
function stretchesOf(path: string): readonly Stretch[] {
  const found: Stretch[] = [];
  let [x, y] = [0, 0];
  for (const [, command = "", words = ""] of path.matchAll(/([MHVQ])([^MHVQ]*)/g)) {
    const numbers = words.trim().split(/\s+/).map(Number);
    const [nextX, nextY] =
      command === "H" ? [numbers[0] ?? 0, y] : command === "V" ? [x, numbers[0] ?? 0] : numbers.slice(-2);
    const [from, to] = command === "V" ? [y, nextY ?? 0] : [x, nextX ?? 0];
    if (command === "H" || command === "V") {
      const at = command === "V" ? x : y;
      found.push({ isVertical: command === "V", at, from: Math.min(from, to), to: Math.max(from, to) });
    }
    [x, y] = [nextX ?? 0, nextY ?? 0];
  }
  return found;
}

/** Resources with all combinations of three gateways, several times, so that many lines cross. */
const tangled = lanesOf(
  Array.from({ length: 14 }, (_, index) => index).flatMap((resource) =>
    [0, 1, 2].filter((gateway) => ((resource % 7) + 1) & (1 << gateway)).map((to) => edge(`r${resource}`, `g${to}`)),
  ),
  14,
  3,
);

test("a line has a gap where another lane crosses it", () => {
  const horizontal = tangled.flatMap((lane) => stretchesOf(lane.path).map((stretch) => ({ ...stretch, lane })));
  const crossings = tangled.flatMap((lane) =>
    lane.x === undefined
      ? []
      : horizontal
          .filter((other) => other.lane !== lane && !other.isVertical)
          .filter(({ at, from, to }) => from < (lane.x ?? 0) && (lane.x ?? 0) < to && lane.top < at && at < lane.bottom)
          .map(({ at }) => ({ lane, at })),
  );
  expect(crossings.length).toBeGreaterThan(10);
  for (const { lane, at } of crossings) {
    const touching = stretchesOf(lane.path).filter(
      (stretch) => stretch.isVertical && stretch.from - 3 < at && at < stretch.to + 3,
    );
    expect(touching, `${lane.edges[0]?.from} at ${at}`).toEqual([]);
  }
});

test("lines have a dot where they meet, and nowhere else", () => {
  const lanes = lanesOf([edge("r0", "g0"), edge("r1", "g0"), edge("r2", "g0")], 3, 3);
  // The topmost line is straight, and the others join it.
  expect(
    lanes.map(({ x, starts, dots }) => dots.map((dot) => [dot.x === x, [...starts.values()].indexOf(dot.y)])),
  ).toEqual([
    [
      [true, 0],
      [true, 1],
    ],
  ]);
  expect(lanesOf([edge("r0", "g1")], 2, 2).map(({ dots }) => dots)).toEqual([[]]);
});

test("no part of a lane is drawn twice, so that all lines have one weight", () => {
  for (const { path } of tangled) {
    const stretches = stretchesOf(path);
    for (const [index, one] of stretches.entries()) {
      const same = stretches
        .slice(index + 1)
        .filter(({ isVertical, at }) => isVertical === one.isVertical && at === one.at);
      for (const other of same)
        expect(Math.min(one.to, other.to) - Math.max(one.from, other.from)).toBeLessThanOrEqual(0);
    }
  }
});

test("an edge between nodes at the same height is straight", () => {
  const [lane] = lanesOf([edge("r0", "g0")], 1, 1);
  expect(lane?.path).toMatch(/^M\S+ \S+H\S+$/);
});
