/** The positions of nodes: columns from left to right. The nodes of a column are already in order. */
import { t } from "../../../messages/i18n.ts";
import type { AccessGraph, Node } from "./graph-model.ts";
import { type Column, columns } from "./graph-opened.ts";
import { gapsFor, lanesBetween, type RoutedLane, routeLanes } from "./graph-routes.ts";

/** Pixels. */
const nodeHeight = 46;
/** Gateways have short names, and the lines before them need room. */
const widthsOf = { subject: 230, source: 230, policy: 230, resource: 230, gateway: 200 } as const;
/** The name of a policy has two lines, and a third one says what the policy does. */
const policyHeight = 62;
/** The space between the nodes of a column. */
const gapY = 10;
/** Screens on which the graph is readable. Narrower ones show the list first. */
export const wideScreen = "(min-width: 80em)";
const innerIndent = 18;
/** The space above the first node of each column. */
export const headingHeight = 34;
/** Columns are centred vertically if the longest column fits on the screen. */
const mostRowsCentred = 14;

export interface Placed {
  readonly node: Node;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface PlacedLane extends RoutedLane {
  /** The column on its left. */
  readonly column: Column;
}

export interface Layout {
  readonly columns: readonly {
    readonly title: string;
    readonly x: number;
    readonly width: number;
    readonly nodes: readonly Placed[];
  }[];
  readonly lanes: readonly PlacedLane[];
  /** Keys of the nodes whose edges are drawn only while the node is selected. */
  readonly quiet: ReadonlySet<string>;
  readonly width: number;
  readonly height: number;
}

/** @param space the width to fill if possible */
export function layOut(graph: AccessGraph, space = Number.POSITIVE_INFINITY): Layout {
  const shown = columns.filter((column) => graph.columns[column].length > 0);
  const lanes = shown
    .slice(0, -1)
    .map((column) => lanesBetween(graph.edges, new Set(graph.columns[column].map(({ key }) => key))));
  const widths = shown.map((column) => widthsOf[column]);
  const gaps = gapsFor(lanes, space - sum(widths));
  const startOf = (index: number) => sum(widths.slice(0, index)) + sum(gaps.slice(0, index));
  const rows = Math.max(0, ...shown.map((column) => graph.columns[column].length));
  const heightOf = (column: (typeof columns)[number]) => (column === "policy" ? policyHeight : nodeHeight);
  const tallest = Math.max(0, ...shown.map((column) => graph.columns[column].length * (heightOf(column) + gapY)));
  const placed = shown.map((column, index) => {
    const nodes = graph.columns[column];
    const height = heightOf(column);
    const pitchY = height + gapY;
    const above = rows > mostRowsCentred ? 0 : (tallest - nodes.length * pitchY) / 2;
    const x = startOf(index);
    const width = widthsOf[column];
    return {
      title: t(`graph.columns.${column}`),
      x,
      width,
      nodes: nodes.map((node, row): Placed => {
        const indent = node.isInner === true ? innerIndent : 0;
        const y = headingHeight + above + row * pitchY;
        return { node, x: x + indent, y, width: width - indent, height };
      }),
    };
  });
  const quiet = quietKeys(graph);
  const boxes = new Map(placed.flatMap(({ nodes }) => nodes.map((box) => [box.node.key, box] as const)));
  return {
    columns: placed,
    lanes: shown.slice(0, -1).flatMap((column, index) => {
      const routed = routeLanes(lanes[index] ?? [], boxes, quiet);
      return routed.map((lane) => ({ ...lane, column }));
    }),
    quiet,
    width: startOf(shown.length),
    height: headingHeight + tallest,
  };
}

/**
 * Nodes whose edges are drawn only while the node is selected, because they would cover the others: links to other
 * pages and, in a column with an expanded group, the nodes outside of the group.
 */
function quietKeys({ columns }: AccessGraph): ReadonlySet<string> {
  const quiet = Object.values(columns).flatMap((nodes) => {
    const hasOpen = nodes.some(({ kind, isOpen }) => kind === "group-of" && isOpen === true);
    return nodes.filter(({ turnsTo, isInner }) => turnsTo !== undefined || (hasOpen && isInner !== true));
  });
  return new Set(quiet.map(({ key }) => key));
}

const sum = (numbers: readonly number[]) => numbers.reduce((all, each) => all + each, 0);

/** The node that an arrow key moves to. Undefined if there is none. */
export function stepFrom(layout: Layout, graph: AccessGraph, key: string, arrow: string): string | undefined {
  const at = layout.columns.findIndex(({ nodes }) => nodes.some(({ node }) => node.key === key));
  const column = layout.columns[at];
  if (column === undefined) return undefined;
  const row = column.nodes.findIndex(({ node }) => node.key === key);
  if (arrow === "ArrowUp") return column.nodes[row - 1]?.node.key;
  if (arrow === "ArrowDown") return column.nodes[row + 1]?.node.key;
  if (arrow === "Home") return column.nodes[0]?.node.key;
  if (arrow === "End") return column.nodes.at(-1)?.node.key;
  const step = arrow === "ArrowRight" ? 1 : arrow === "ArrowLeft" ? -1 : 0;
  const next = step === 0 ? undefined : layout.columns[at + step];
  if (next === undefined) return undefined;
  const isJoined = (other: string) =>
    graph.edges.some(({ from, to }) => (step === 1 ? from === key && to === other : to === key && from === other));
  const y = column.nodes[row]?.y ?? 0;
  const nearest = (some: readonly Placed[]) =>
    [...some].sort((left, right) => Math.abs(left.y - y) - Math.abs(right.y - y))[0]?.node.key;
  return nearest(next.nodes.filter(({ node }) => isJoined(node.key))) ?? nearest(next.nodes);
}
