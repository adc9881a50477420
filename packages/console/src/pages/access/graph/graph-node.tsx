import { Handle, type NodeProps, Position, useUpdateNodeInternals } from "@xyflow/react";
import {
  Ban,
  ChevronDown,
  ChevronRight,
  ChevronsDown,
  ChevronsUp,
  CircleCheck,
  CircleX,
  Globe,
  Layers,
  MonitorSmartphone,
  Router,
  Server,
  ShieldCheck,
  User,
  Users,
} from "lucide-react";
import { memo, useEffect } from "react";
import { t } from "../../../messages/i18n.ts";
import type { Node } from "./graph-model.ts";

export interface GraphNodeValues {
  readonly node: Node;
  /** The names of the nodes that its edges lead to. */
  readonly leadsTo: readonly string[];
  /** Whether edges that allow and edges that deny lead to the node. */
  readonly isMixedBefore: boolean;
  /** Whether edges that allow and edges that deny start at the node. */
  readonly isMixedAfter: boolean;
  readonly activate: (node: Node) => void;
  readonly openOrClose: (owner: string) => void;
  /** Whether the Tab key stops at the node. */
  readonly isCurrent: boolean;
  /** Whether the graph is filtered by the node. */
  readonly isFocus: boolean;
}

const icons = {
  group: Users,
  user: User,
  device: MonitorSmartphone,
  words: Globe,
  policy: ShieldCheck,
  resource: Server,
  gateway: Router,
  "group-of": Layers,
  more: ChevronsDown,
  before: ChevronsUp,
} as const;

const kinds = {
  group: t("graph.nodes.group"),
  user: t("graph.nodes.user"),
  device: t("graph.nodes.device"),
  words: "",
  policy: t("graph.nodes.policy"),
  resource: t("graph.nodes.resource"),
  gateway: t("graph.nodes.gateway"),
  "group-of": "",
  more: "",
  before: "",
} as const;

export const GraphNode = memo(function GraphNode({ id, data }: NodeProps) {
  const values = data as unknown as GraphNodeValues; // as the canvas makes it
  const { node, leadsTo, isMixedBefore, isMixedAfter, activate, openOrClose, isCurrent, isFocus } = values;
  const measureEnds = useUpdateNodeInternals();
  // React Flow measures the ends of edges only when a node changes its size.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the ends move if these change
  useEffect(() => measureEnds(id), [measureEnds, id, isMixedBefore, isMixedAfter]);
  const { key, kind, name, note, tone, denies = false, isOpen, reached } = node;
  const Icon = denies ? Ban : reached === undefined ? icons[kind] : reached.isReached ? CircleCheck : CircleX;
  const opens = kind === "group-of";
  const title = note === undefined ? name : `${name} (${note})`;
  return (
    <>
      <Ends side={Position.Left} type="target" isMixed={isMixedBefore} />
      <button
        type="button"
        className="graph-node"
        data-key={key}
        data-kind={kind}
        data-denies={denies}
        data-focus={isFocus}
        data-reached={reached?.isReached}
        tabIndex={isCurrent ? 0 : -1}
        title={reached === undefined ? title : t("graph.nodes.seeWhy", { name: title })}
        {...(leadsTo.length === 0 ? {} : { "aria-description": formatNext(leadsTo) })}
        {...(opens ? { "aria-expanded": isOpen === true } : {})}
        {...(isFocus ? { "aria-current": true } : {})}
        onClick={() => activate(node)}
      >
        <Icon size={16} aria-hidden />
        <span className="graph-words">
          <span className="graph-name">
            {kinds[kind] !== "" && <span className="unseen">{kinds[kind]} </span>}
            {name}
          </span>
          {note !== undefined && (
            <span className="graph-note" data-tone={tone}>
              {note}
            </span>
          )}
        </span>
        {opens && (isOpen === true ? <ChevronDown size={16} aria-hidden /> : <ChevronRight size={16} aria-hidden />)}
      </button>
      {kind === "group" && isOpen !== undefined && (
        <button
          type="button"
          className="graph-members"
          tabIndex={-1}
          aria-label={t("graph.nodes.members", { name })}
          aria-expanded={isOpen}
          onClick={() => openOrClose(key)}
        >
          {isOpen ? <ChevronDown size={16} aria-hidden /> : <ChevronRight size={16} aria-hidden />}
        </button>
      )}
      <Ends side={Position.Right} type="source" isMixed={isMixedAfter} />
    </>
  );
});

interface EndsProps {
  readonly side: Position;
  readonly type: "source" | "target";
  /** Whether edges of both kinds end here. */
  readonly isMixed: boolean;
}

/** Separate handles for edges that allow and edges that deny. */
function Ends({ side, type, isMixed }: EndsProps) {
  return (["allow", "deny"] as const).map((id) => (
    <Handle
      key={id}
      id={id}
      type={type}
      position={side}
      className={`graph-end ${id} ${isMixed ? "beside" : ""}`}
      isConnectable={false}
    />
  ));
}

const mostNames = 5;

function formatNext(leadsTo: readonly string[]): string {
  const names = leadsTo.slice(0, mostNames).join("; ");
  const count = leadsTo.length - mostNames;
  return count > 0 ? t("graph.nodes.leadsToMore", { names, count }) : t("graph.nodes.leadsTo", { names });
}

export const HeadingNode = memo(function HeadingNode({ data }: NodeProps) {
  return <div className="graph-heading">{String(data.title)}</div>;
});
