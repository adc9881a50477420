/** Draws the graph. Loaded on first use, because the library is large. */
import "@xyflow/react/dist/base.css";
import "./graph-canvas.css";
import { ActionIcon, Group, useComputedColorScheme } from "@mantine/core";
import { useElementSize, useMergedRef } from "@mantine/hooks";
import { type Node as FlowNode, Panel, ReactFlow, type ReactFlowInstance, ViewportPortal } from "@xyflow/react";
import { Maximize, ZoomIn, ZoomOut } from "lucide-react";
import { type CSSProperties, type KeyboardEvent, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { t } from "../../../messages/i18n.ts";
import { layOut, type Placed, stepFrom } from "./graph-layout.ts";
import { type Appearance, GraphLines } from "./graph-lines.tsx";
import { type AccessGraph, type Edge, type Node, pathsThrough } from "./graph-model.ts";
import { GraphNode, type GraphNodeValues, HeadingNode } from "./graph-node.tsx";

interface GraphCanvasProps {
  readonly graph: AccessGraph;
  /** Changes when the graph shows something else. The viewport then resets. */
  readonly about: string;
  readonly focusKey: string;
  readonly openOrClose: (owner: string) => void;
  readonly turnTo: (owner: string, page: number) => void;
  readonly focusOn: (key: string) => void;
}

const nodeTypes = { access: GraphNode, heading: HeadingNode };
const margin = 24;
/** Graphs with more edges draw them faintly until a node is selected. */
const mostPlainEdges = 120;
/** The smallest initial zoom, with readable text. Larger graphs start with a part in view. */
const leastZoom = 0.85;
/** A taller graph scrolls inside a frame that fits the window. Any other one scrolls with the page. */
const mostHeight = 1_600;

export function GraphCanvas({ graph, about, focusKey, openOrClose, turnTo, focusOn }: GraphCanvasProps) {
  const theme = useComputedColorScheme("light");
  const frame = useRef<HTMLDivElement>(null);
  const { ref: measured, width } = useElementSize<HTMLDivElement>();
  const frameRef = useMergedRef(frame, measured);
  const layout = useMemo(() => layOut(graph, width - 2 * margin), [graph, width]);
  const [flow, setFlow] = useState<ReactFlowInstance>();
  const [hovered, setHovered] = useState<string>();
  const [active, setActive] = useState<string>();
  const [hasFocus, setHasFocus] = useState(false);
  const keys = useMemo(() => layout.columns.flatMap(({ nodes }) => nodes.map(({ node }) => node.key)), [layout]);
  const current = active !== undefined && keys.includes(active) ? active : keys[0];

  /** The height at the zoom that shows all columns. */
  const drawnHeight = layout.height * Math.max(zoomAcross(width, layout), leastZoom) + 2 * margin;
  const pans = drawnHeight > mostHeight;

  const fitToScreen = useCallback(() => {
    const box = frame.current?.getBoundingClientRect();
    if (flow === undefined || box === undefined) return;
    const acrossOnly = zoomAcross(box.width, layout);
    const whole = Math.min((box.height - 2 * margin) / layout.height, acrossOnly);
    const zoom = Math.max(whole >= leastZoom ? whole : acrossOnly, leastZoom);
    const [width, height] = [layout.width * zoom, layout.height * zoom];
    void flow.setViewport({
      zoom,
      x: Math.max((box.width - width) / 2, margin),
      y: Math.max((box.height - height) / 2, margin),
    });
  }, [flow, layout]);
  const fitted = useRef("");
  // Another width, such as that of a rotated tablet, could hide the last column. A graph that no longer scrolls inside
  // its frame must not stay moved.
  const place = `${width} ${pans} ${about}`;
  useEffect(() => {
    if (flow === undefined || width === 0 || fitted.current === place) return;
    fitted.current = place;
    fitToScreen();
  }, [flow, width, place, fitToScreen]);

  /** Scrolls the focused node into view. */
  const reveal = useCallback(
    (key: string) => {
      const placed = layout.columns.flatMap(({ nodes }) => nodes).find(({ node }) => node.key === key);
      const box = frame.current?.getBoundingClientRect();
      if (flow === undefined || placed === undefined || box === undefined) return;
      const { x, y, zoom } = flow.getViewport();
      const [left, top] = [placed.x * zoom + x, placed.y * zoom + y];
      const [width, height] = [placed.width * zoom, placed.height * zoom];
      const into = (at: number, size: number, whole: number) =>
        at < margin ? margin - at : Math.min(0, whole - margin - size - at);
      const [right, down] = [into(left, width, box.width), into(top, height, box.height)];
      if (right !== 0 || down !== 0) void flow.setViewport({ x: x + right, y: y + down, zoom });
    },
    [flow, layout],
  );
  const focusNode = useCallback((key: string) => {
    setActive(key);
    frame.current?.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
  }, []);
  // An action can remove the focused node. The focus then moves to the current node.
  useEffect(() => {
    const isLost = document.activeElement === null || document.activeElement === document.body;
    if (hasFocus && isLost && current !== undefined) focusNode(current);
  });

  const activate = useCallback(
    ({ key, kind, turnsTo, isOpen }: Node) => {
      setActive(key);
      if (turnsTo !== undefined) turnTo(turnsTo.owner, turnsTo.page);
      else if (kind === "group-of" || (isOpen !== undefined && key === focusKey)) openOrClose(key);
      else if (!key.startsWith("subject:") && !key.startsWith("empty:")) focusOn(key.replace(/^member:/, ""));
    },
    [turnTo, openOrClose, focusOn, focusKey],
  );
  const onKeyDown = (event: KeyboardEvent) => {
    if (current === undefined || !(event.target instanceof HTMLElement) || event.target.dataset.key === undefined)
      return;
    const next = stepFrom(layout, graph, current, event.key);
    if (next === undefined) return;
    event.preventDefault();
    focusNode(next);
  };

  const selected = hovered ?? (hasFocus ? current : undefined);
  const lit = useMemo(() => {
    const found = selected === undefined ? undefined : pathsThrough(graph.edges, selected);
    // A node without edges, such as the heading of an expanded group, highlights nothing.
    return found !== undefined && found.size > 1 ? found : undefined;
  }, [graph, selected]);
  const values = useMemo(() => nodeValues(graph, activate, openOrClose), [graph, activate, openOrClose]);
  const dimmed = (isLit: boolean) => (lit === undefined ? "" : isLit ? "lit" : "dim");
  const headings = useMemo(
    () =>
      layout.columns.map(
        ({ title, x, width }): FlowNode => ({
          id: `heading:${title}`,
          type: "heading",
          position: { x, y: 0 },
          width,
          height: 24,
          data: { title },
        }),
      ),
    [layout],
  );
  const nodeAs = useMemo(() => cachedNodes(values), [values]);
  const nodes = layout.columns.flatMap(({ nodes: inside }) =>
    inside.map((placed) => {
      const { key } = placed.node;
      return nodeAs(placed, dimmed(lit?.has(key) === true), key === current, key === focusKey);
    }),
  );
  const isDrawn = ({ from, to }: Edge) => ![from, to].some((key) => layout.quiet.has(key) && key !== selected);
  const appearanceOf = (edge: Edge, isServing: boolean): Appearance | undefined => {
    if (!isDrawn(edge)) return undefined;
    if (lit !== undefined) return lit.has(edge.from) && lit.has(edge.to) ? "lit" : "dim";
    // A filtered graph shows only what its filter selects.
    return isServing && focusKey === "" ? "muted" : "plain";
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys belong to the buttons inside
    <div
      ref={frameRef}
      className="access-graph"
      style={pans ? {} : ({ "--drawn-height": `${drawnHeight}px` } as CSSProperties)}
      data-many={graph.edges.filter(isDrawn).length > mostPlainEdges}
      onKeyDown={onKeyDown}
      onFocus={({ target }) => {
        const key = target instanceof HTMLElement ? target.dataset.key : undefined;
        setHasFocus(key !== undefined);
        if (key === undefined) return;
        setActive(key);
        // Scrolling during a mouse press would move the target away.
        if (target.matches(":focus-visible")) reveal(key);
      }}
      onBlur={({ relatedTarget }) => {
        if (relatedTarget !== null) setHasFocus(false);
      }}
    >
      <ReactFlow
        nodes={[...headings, ...nodes]}
        nodeTypes={nodeTypes}
        onInit={setFlow}
        colorMode={theme}
        attributionPosition="bottom-left"
        aria-label={t("graph.canvas")}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        elementsSelectable={false}
        disableKeyboardA11y
        zoomOnScroll={false}
        zoomOnDoubleClick={false}
        panOnScroll={pans}
        preventScrolling={pans}
        minZoom={0.2}
        maxZoom={1.5}
        translateExtent={[
          [-300, -200],
          [layout.width + 300, layout.height + 200],
        ]}
        onNodeMouseEnter={(_event, node) => setHovered(node.type === "access" ? node.id : undefined)}
        onNodeMouseLeave={() => setHovered(undefined)}
      >
        <ViewportPortal>
          <GraphLines lanes={layout.lanes} appearanceOf={appearanceOf} />
        </ViewportPortal>
        <Panel position="bottom-right">
          <Group gap={4}>
            <ActionIcon variant="default" aria-label={t("graph.zoomIn")} onClick={() => void flow?.zoomIn()}>
              <ZoomIn size={16} aria-hidden />
            </ActionIcon>
            <ActionIcon variant="default" aria-label={t("graph.zoomOut")} onClick={() => void flow?.zoomOut()}>
              <ZoomOut size={16} aria-hidden />
            </ActionIcon>
            <ActionIcon
              variant="default"
              aria-label={t("graph.zoomFit")}
              onClick={() => void flow?.fitView({ padding: 0.05, maxZoom: 1 })}
            >
              <Maximize size={16} aria-hidden />
            </ActionIcon>
          </Group>
        </Panel>
      </ReactFlow>
    </div>
  );
}

/** The largest zoom up to 1 that shows all columns. */
function zoomAcross(width: number, layout: { readonly width: number }): number {
  return Math.min((width - 2 * margin) / layout.width, 1);
}

type NodeValues = ReadonlyMap<string, Omit<GraphNodeValues, "isCurrent" | "isFocus">>;

/** Returns the previous object for an unchanged node, so that React Flow renders only changed nodes. */
function cachedNodes(values: NodeValues) {
  const cached = new WeakMap<Placed, Map<string, FlowNode>>();
  return (placed: Placed, className: string, isCurrent: boolean, isFocus: boolean): FlowNode => {
    const variants = cached.get(placed) ?? new Map<string, FlowNode>();
    cached.set(placed, variants);
    const appearance = `${className} ${isCurrent} ${isFocus}`;
    const { node, x, y, width, height } = placed;
    const known = variants.get(appearance) ?? {
      id: node.key,
      type: "access",
      position: { x, y },
      width,
      height,
      className,
      data: { ...values.get(node.key), isCurrent, isFocus },
    };
    variants.set(appearance, known);
    return known;
  };
}

/** The values of each node that do not depend on the pointer or the focus. */
function nodeValues(
  graph: AccessGraph,
  activate: (node: Node) => void,
  openOrClose: (owner: string) => void,
): NodeValues {
  const all = Object.values(graph.columns).flat();
  const names = new Map(all.map(({ key, name }) => [key, name]));
  const next = new Map<string, string[]>();
  for (const { from, to, denies } of graph.edges) {
    const known = next.get(from) ?? [];
    const name = names.get(to) ?? to;
    known.push(denies ? t("graph.denyLabel", { name }) : name);
    next.set(from, known);
  }
  return new Map(all.map((node) => [node.key, { node, leadsTo: next.get(node.key) ?? [], activate, openOrClose }]));
}
