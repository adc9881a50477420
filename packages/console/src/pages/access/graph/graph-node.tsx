import type { NodeProps } from "@xyflow/react";
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
  type LucideIcon,
  MonitorSmartphone,
  Router,
  Server,
  ShieldCheck,
  User,
  Users,
} from "lucide-react";
import { memo } from "react";
import { t } from "../../../messages/i18n.ts";
import type { Node } from "./graph-model.ts";
import { allDevices, allGroups, allResources, allUsers, anySite } from "./graph-paths.ts";

export interface GraphNodeValues {
  readonly node: Node;
  /** The names of the nodes that its edges lead to. */
  readonly leadsTo: readonly string[];
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

/** The icons of nodes that stand for all records of a kind. */
const wordIcons: Readonly<Record<string, LucideIcon>> = {
  [allUsers.key]: Users,
  [allGroups.key]: Users,
  [allDevices.key]: MonitorSmartphone,
  [anySite.key]: Router,
  [allResources.key]: Server,
};

function iconOf({ key, kind, isInner = false }: Node): LucideIcon {
  // The only inner node without a record says that a group has no members.
  return wordIcons[key] ?? (kind === "words" && isInner ? Users : icons[kind]);
}

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

export const GraphNode = memo(function GraphNode({ data }: NodeProps) {
  const values = data as unknown as GraphNodeValues; // as the canvas makes it
  const { node, leadsTo, activate, openOrClose, isCurrent, isFocus } = values;
  const { key, kind, name, note, tone, denies = false, isOpen, reached } = node;
  const Icon = denies ? Ban : reached === undefined ? iconOf(node) : reached.isReached ? CircleCheck : CircleX;
  const opens = kind === "group-of";
  const title = note === undefined ? name : `${name} (${note})`;
  return (
    <>
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
    </>
  );
});

const mostNames = 5;

function formatNext(leadsTo: readonly string[]): string {
  const names = leadsTo.slice(0, mostNames).join("; ");
  const count = leadsTo.length - mostNames;
  return count > 0 ? t("graph.nodes.leadsToMore", { names, count }) : t("graph.nodes.leadsTo", { names });
}

export const HeadingNode = memo(function HeadingNode({ data }: NodeProps) {
  return <div className="graph-heading">{String(data.title)}</div>;
});
