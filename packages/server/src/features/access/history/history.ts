/** Converts fact changes to versions of a history, and versions to changes and facts. Pure. */
import { policyTypes } from "@gatehouse/contract/records/policy";
import type { DeviceFacts, FactChange, PolicyFacts, TenantFacts } from "@gatehouse/policy/model/facts";
import type { HistoryRow, HistoryVersion } from "./history.queries.ts";

/** The order within one generation: deletions first, policy orders last, because they list existing policies. */
const stepOf = (change: FactChange) => (change.kind === "policy-order" ? 2 : "gone" in change ? 0 : 1);

/** @param rows in the order of their generations */
export function changesOfHistory(rows: readonly HistoryRow[]): readonly FactChange[] {
  const changes: FactChange[] = [];
  for (let start = 0; start < rows.length; ) {
    const { generation } = rows[start] as HistoryRow; // the index is in range
    const next = rows.findIndex((row, index) => index > start && row.generation !== generation);
    const end = next === -1 ? rows.length : next;
    const together = rows.slice(start, end).map(changeOf);
    for (const change of together.sort((a, b) => stepOf(a) - stepOf(b))) changes.push(change);
    start = end;
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

/** A change as the history stores it. */
export function versionOf(change: FactChange): HistoryVersion {
  if (change.kind === "policy-order") return { kind: change.kind, record: change.type, facts: change.ids };
  if ("gone" in change) return { kind: change.kind, record: change.gone, facts: undefined };
  return { kind: change.kind, record: change.facts.id, facts: change.facts };
}

/** @param rows the latest version of each existing record at a generation */
export function factsOfHistory(rows: readonly HistoryRow[]): TenantFacts {
  const kept = <Facts>(kind: string) => rows.flatMap((row) => (row.kind === kind ? [row.facts as Facts] : [])); // rows of this kind
  return {
    users: kept("user"),
    groups: kept("group"),
    devices: rows.filter(({ kind }) => kind === "device").map(pastDevice),
    gateways: kept("gateway"),
    resources: kept("resource"),
    rules: kept("rule"),
    policies: orderedPolicies(rows),
  };
}

/**
 * The order of policies. The last stored order lists the policies that existed then. Later policies follow it in the
 * order of their creation: a command that creates more than one policy stores the order.
 */
function orderedPolicies(rows: readonly HistoryRow[]): readonly PolicyFacts[] {
  const policies = rows.filter(({ kind }) => kind === "policy");
  const positions = new Map<string, number>();
  for (const { kind, facts } of rows) {
    if (kind === "policy-order")
      for (const [index, id] of (facts as readonly string[]).entries()) positions.set(id, index); // ids
  }
  const positionOf = ({ record }: HistoryRow) => positions.get(record) ?? Number.POSITIVE_INFINITY;
  const inOrder = policies.sort((a, b) =>
    positionOf(a) === positionOf(b) ? a.firstGeneration - b.firstGeneration : positionOf(a) - positionOf(b),
  );
  const facts = inOrder.map((row) => row.facts as PolicyFacts); // rows of this kind
  return policyTypes.flatMap((type) => {
    const ofType = facts.filter((policy) => policy.type === type);
    return [...ofType.filter(({ isDefault }) => !isDefault), ...ofType.filter(({ isDefault }) => isDefault)];
  });
}
