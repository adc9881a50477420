import { expect, test } from "vitest";
import { layOut } from "./graph-layout.ts";
import type { AccessGraph, Edge, Node } from "./graph-model.ts";

const node = (key: string, column: Node["column"]): Node => ({ key, column, kind: "words", name: key });
const edge = (from: string, to: string, denies = false): Edge => ({ from, to, denies, count: 1 });

/** Resources r1, r2, … and gateways g1, g2, …, with these edges. */
function graphOf(edges: readonly Edge[]): AccessGraph {
  const keys = (kind: "r" | "g") =>
    [...new Set(edges.flatMap(({ from, to }) => [from, to]))].filter((key) => key.startsWith(kind)).sort();
  return {
    columns: {
      subject: [],
      source: [],
      policy: [],
      resource: keys("r").map((key) => node(key, "resource")),
      gateway: keys("g").map((key) => node(key, "gateway")),
    },
    edges,
  };
}

/** The position of the vertical part of each edge, and the height of its ends. */
function linesOf(graph: AccessGraph) {
  const { lanes } = layOut(graph);
  return graph.edges.map((each) => {
    const lane = lanes.find(({ edges }) => edges.includes(each));
    return { ...each, x: lane?.x, startY: lane?.starts.get(each.from) ?? 0, endY: lane?.ends.get(each.to) ?? 0 };
  });
}

test("resources with the same gateways share one line, and others have lines of their own", () => {
  const both = ["r1", "r3", "r5"].flatMap((from) => [edge(from, "g1"), edge(from, "g2")]);
  const lines = linesOf(graphOf([...both, edge("r2", "g1"), edge("r4", "g2"), edge("r4", "g3")]));
  const laneOf = (from: string) => lines.find((line) => line.from === from && line.x !== undefined)?.x;
  expect(["r3", "r5"].map(laneOf)).toEqual([laneOf("r1"), laneOf("r1")]);
  expect(new Set(["r1", "r2", "r4"].map(laneOf)).size).toBe(3);
  // At a gateway, lines of different sets end apart.
  const endsAt = (to: string) => [...new Set(lines.filter((line) => line.to === to).map(({ endY }) => endY))];
  expect(["g1", "g2", "g3"].map((to) => endsAt(to).length)).toEqual([2, 2, 1]);
});

test("no line ends at the height at which a line of another set starts", () => {
  const edges = Array.from({ length: 8 }, (_, index) => `r${index}`).flatMap((from, index) =>
    ["g1", "g2", "g3"].filter((_to, gateway) => (index + 1) % (gateway + 2) > 0).map((to) => edge(from, to)),
  );
  const lines = linesOf(graphOf(edges));
  const setOf = (from: string) =>
    edges
      .filter((each) => each.from === from)
      .map(({ to }) => to)
      .join();
  for (const one of lines) {
    for (const other of lines) {
      if (setOf(one.from) !== setOf(other.from)) expect(Math.abs(one.endY - other.startY)).toBeGreaterThanOrEqual(4);
    }
  }
});

test("lines that allow and lines that deny start apart", () => {
  const lines = linesOf(graphOf([edge("r1", "g1"), edge("r1", "g2", true)]));
  expect(new Set(lines.map(({ startY }) => startY)).size).toBe(2);
});
