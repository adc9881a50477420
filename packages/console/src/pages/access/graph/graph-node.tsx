import { Handle, type NodeProps, Position } from "@xyflow/react";
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
import { memo } from "react";
import type { Node } from "./graph-model.ts";

export interface GraphNodeValues {
  readonly node: Node;
  /** What edges lead to from it, in words. */
  readonly leadsTo: readonly string[];
  readonly activate: (node: Node) => void;
  readonly openOrClose: (owner: string) => void;
  /** Whether it is what the tab key stops at. */
  readonly isCurrent: boolean;
  /** Whether the graph is narrowed to it. */
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
  group: "Group",
  user: "User",
  device: "Device",
  words: "",
  policy: "Policy",
  resource: "Resource",
  gateway: "Gateway",
  "group-of": "",
  more: "",
  before: "",
} as const;

export const GraphNode = memo(function GraphNode({ data }: NodeProps) {
  const { node, leadsTo, activate, openOrClose, isCurrent, isFocus } = data as unknown as GraphNodeValues; // as the canvas makes it
  const { key, kind, name, note, denies = false, isOpen, reached } = node;
  const Icon = denies ? Ban : reached === undefined ? icons[kind] : reached.isReached ? CircleCheck : CircleX;
  const opens = kind === "group-of";
  return (
    <>
      <Ends side={Position.Left} type="target" />
      <button
        type="button"
        className="graph-node"
        data-key={key}
        data-kind={kind}
        data-denies={denies}
        data-focus={isFocus}
        data-reached={reached?.isReached}
        tabIndex={isCurrent ? 0 : -1}
        title={`${name}${note === undefined ? "" : ` (${note})`}${reached === undefined ? "" : ": see why"}`}
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
          {note !== undefined && <span className="graph-note">{note}</span>}
        </span>
        {opens && (isOpen === true ? <ChevronDown size={16} aria-hidden /> : <ChevronRight size={16} aria-hidden />)}
      </button>
      {kind === "group" && isOpen !== undefined && (
        <button
          type="button"
          className="graph-members"
          tabIndex={-1}
          aria-label={`Users of ${name}`}
          aria-expanded={isOpen}
          onClick={() => openOrClose(key)}
        >
          {isOpen ? <ChevronDown size={16} aria-hidden /> : <ChevronRight size={16} aria-hidden />}
        </button>
      )}
      <Ends side={Position.Right} type="source" />
    </>
  );
});

/** What is allowed and what is denied leave and arrive at places of their own. */
function Ends({ side, type }: { readonly side: Position; readonly type: "source" | "target" }) {
  return (
    <>
      <Handle id="allow" type={type} position={side} className="graph-end allow" isConnectable={false} />
      <Handle id="deny" type={type} position={side} className="graph-end deny" isConnectable={false} />
    </>
  );
}

const mostNames = 5;

function formatNext(leadsTo: readonly string[]): string {
  const rest = leadsTo.length - mostNames;
  return `Leads to ${leadsTo.slice(0, mostNames).join("; ")}${rest > 0 ? `; and ${rest} more` : ""}`;
}

export const HeadingNode = memo(function HeadingNode({ data }: NodeProps) {
  return <div className="graph-heading">{String(data.title)}</div>;
});
