/** The positions of nodes: columns from left to right. The nodes of a column are already in order. */
import { t } from "../../../messages/i18n.ts";
import type { AccessGraph, Node } from "./graph-model.ts";
import { columns } from "./graph-opened.ts";

/** Pixels. */
export const nodeSize = { width: 240, height: 46 } as const;
/** The name of a policy has two lines, and a third one says what the policy does. */
const policyHeight = 62;
/** The space between the nodes of a column. */
const gapY = 10;
/** The space between columns depends on the width of the screen, so that text keeps its size. */
const gap = { least: 40, most: 96 } as const;
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

export interface Layout {
  readonly columns: readonly { readonly title: string; readonly x: number; readonly nodes: readonly Placed[] }[];
  readonly width: number;
  readonly height: number;
}

/** @param space the width to fill if possible */
export function layOut(graph: AccessGraph, space = Number.POSITIVE_INFINITY): Layout {
  const shown = columns.filter((column) => graph.columns[column].length > 0);
  const spare = (space - shown.length * nodeSize.width) / Math.max(1, shown.length - 1);
  const pitchX = nodeSize.width + Math.min(gap.most, Math.max(gap.least, spare));
  const rows = Math.max(0, ...shown.map((column) => graph.columns[column].length));
  const heightOf = (column: (typeof columns)[number]) => (column === "policy" ? policyHeight : nodeSize.height);
  const tallest = Math.max(0, ...shown.map((column) => graph.columns[column].length * (heightOf(column) + gapY)));
  const placed = shown.map((column, index) => {
    const nodes = graph.columns[column];
    const height = heightOf(column);
    const pitchY = height + gapY;
    const above = rows > mostRowsCentred ? 0 : (tallest - nodes.length * pitchY) / 2;
    const x = index * pitchX;
    return {
      title: t(`graph.columns.${column}`),
      x,
      nodes: nodes.map((node, row): Placed => {
        const indent = node.isInner === true ? innerIndent : 0;
        const y = headingHeight + above + row * pitchY;
        return { node, x: x + indent, y, width: nodeSize.width - indent, height };
      }),
    };
  });
  return {
    columns: placed,
    width: Math.max(0, (shown.length - 1) * pitchX + nodeSize.width),
    height: headingHeight + tallest,
  };
}

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
