/** Converts fact changes to versions of a history, and versions to changes and facts. Pure. */
import { policyTypes } from "@gatehouse/contract/records/policy";
import type {
  DeviceFacts,
  FactChange,
  GatewayFacts,
  PolicyFacts,
  ResourceFacts,
  TenantFacts,
} from "@gatehouse/policy/model/facts";
import { entriesAtOnce, entryCost, type Work } from "@gatehouse/policy/work";
import type { HistoryRow, HistoryVersion } from "./history.queries.ts";

/** The cost of a version, in rule-cost units. */
const rowCost = 5 * entryCost;
const rowsAtOnce = entriesAtOnce / 5;

/**
 * The changes that versions describe, as work that can be suspended between some of them. Within one generation,
 * deletions come first, and policy orders last, because they list existing policies.
 *
 * @param rows in the order of their generations
 */
export function* changesOfHistory(rows: readonly HistoryRow[]): Work<readonly FactChange[]> {
  const changes: FactChange[] = [];
  for (let start = 0; start < rows.length; ) {
    const { generation } = rows[start] as HistoryRow; // the index is in range
    const written: FactChange[] = [];
    const orders: FactChange[] = [];
    for (; rows[start]?.generation === generation; start += 1) {
      const change = changeOf(rows[start] as HistoryRow); // the index is in range
      if (change.kind === "policy-order") orders.push(change);
      else if ("gone" in change) changes.push(change);
      else written.push(change);
      if (start % rowsAtOnce === rowsAtOnce - 1) yield rowsAtOnce * rowCost;
    }
    for (const change of written) changes.push(change);
    for (const change of orders) changes.push(change);
  }
  return changes;
}

function changeOf(row: HistoryRow): FactChange {
  const { kind, record } = row;
  const facts = kind === "device" ? currentDevice(row.facts) : row.facts;
  const change =
    kind === "policy-order"
      ? { kind, type: record, ids: facts ?? [] }
      : facts === null
        ? { kind, gone: record }
        : { kind, facts };
  return change as FactChange; // written by `versionOf`
}

/**
 * A device as facts describe it today. Versions from before enrolment keys existed (migration 0067) have no tags, and
 * versions from before other WireGuard apps (migration 0078) do not name the agent, which all devices ran. Older
 * versions than rules about sessions have no session, so that such rules were not met.
 */
function currentDevice(facts: HistoryRow["facts"]): HistoryRow["facts"] {
  if (facts === null || ("session" in facts && "agent" in facts)) return facts;
  // The keys are in the order of the live facts, because facts are compared as text.
  const known = facts as Partial<DeviceFacts>; // of a device
  const { tags = [], agent = true, posture, session = null, sessionEndsAt, ...others } = known;
  return { ...others, tags, agent, posture, session, ...(sessionEndsAt === undefined ? {} : { sessionEndsAt }) };
}

/** A past device. The end of its session is an observation, and not part of the past (decision 0125). */
function pastDevice(row: HistoryRow): DeviceFacts {
  const facts = currentDevice(row.facts) as DeviceFacts; // the row of a device that exists
  return { ...facts, sessionEndsAt: null };
}

/** Changes as the history stores them. */
export function* versionsOf(changes: readonly FactChange[]): Iterable<HistoryVersion> {
  for (const change of changes) yield versionOf(change);
}

function versionOf(change: FactChange): HistoryVersion {
  if (change.kind === "policy-order") return { kind: change.kind, record: change.type, facts: change.ids };
  if ("gone" in change) return { kind: change.kind, record: change.gone, facts: undefined };
  return { kind: change.kind, record: change.facts.id, facts: change.facts };
}

/**
 * The facts that versions describe, as work that can be suspended between some of them.
 *
 * @param rows the latest version of each existing record at a generation
 */
export function* factsOfHistory(rows: readonly HistoryRow[]): Work<TenantFacts> {
  const byKind = new Map<string, object[]>();
  for (const [index, row] of rows.entries()) {
    const { kind } = row;
    const value = kind === "policy" || kind === "policy-order" ? row : kind === "device" ? pastDevice(row) : row.facts;
    const list = byKind.get(kind);
    // A row of an existing record has facts.
    if (list === undefined) byKind.set(kind, [value as object]);
    else list.push(value as object);
    if (index % rowsAtOnce === rowsAtOnce - 1) yield rowsAtOnce * rowCost;
  }
  const kept = <Facts>(kind: string) => (byKind.get(kind) ?? []) as Facts[]; // rows of this kind
  const gateways = kept<GatewayFacts>("gateway");
  return {
    users: kept("user"),
    groups: kept("group"),
    devices: kept("device"),
    gateways,
    resources: yield* withExisting(gateways, kept("resource")),
    rules: kept("rule"),
    policies: orderedPolicies(kept("policy"), kept("policy-order")),
  };
}

/**
 * Resources without deleted gateways. Before decision 0259, the deletion of a gateway made no version of its resources.
 */
function* withExisting(
  gateways: readonly GatewayFacts[],
  resources: readonly ResourceFacts[],
): Work<readonly ResourceFacts[]> {
  const existing = new Set(gateways.map(({ id }) => id));
  const all: ResourceFacts[] = [];
  for (const resource of resources) {
    const kept = resource.gateways.filter((id) => existing.has(id));
    all.push(kept.length === resource.gateways.length ? resource : { ...resource, gateways: kept });
    if (all.length % rowsAtOnce === 0) yield rowsAtOnce * rowCost;
  }
  return all;
}

/**
 * The order of policies. The last stored order lists the policies that existed then. Later policies follow it in the
 * order of their creation: a command that creates more than one policy stores the order.
 */
function orderedPolicies(policies: readonly HistoryRow[], orders: readonly HistoryRow[]): readonly PolicyFacts[] {
  const positions = new Map<string, number>();
  for (const { facts } of orders) {
    for (const [index, id] of (facts as readonly string[]).entries()) positions.set(id, index); // ids
  }
  const placed = policies.map((row) => ({ row, position: positions.get(row.record) ?? Number.POSITIVE_INFINITY }));
  placed.sort((a, b) =>
    a.position === b.position ? a.row.firstGeneration - b.row.firstGeneration : a.position - b.position,
  );
  const facts = placed.map(({ row }) => row.facts as PolicyFacts); // rows of this kind
  return policyTypes.flatMap((type) => {
    const ofType = facts.filter((policy) => policy.type === type);
    return [...ofType.filter(({ isDefault }) => !isDefault), ...ofType.filter(({ isDefault }) => isDefault)];
  });
}
