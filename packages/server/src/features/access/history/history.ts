/** Turns changes of facts into versions of a history, and such versions into changes and facts. Pure. */
import { policyTypes } from "@gatehouse/contract/records/policy";
import type { FactChange, PolicyFacts, TenantFacts } from "@gatehouse/policy/model/facts";
import type { HistoryRow, HistoryVersion } from "./history.queries.ts";

/** Of the changes of one generation, what is gone goes first, and orders are told of what is there. */
const stepOf = (change: FactChange) => (change.kind === "policy-order" ? 2 : "gone" in change ? 0 : 1);

/** @param rows in the order of their generations */
export function changesOfHistory(rows: readonly HistoryRow[]): readonly FactChange[] {
  const changes: FactChange[] = [];
  for (let start = 0; start < rows.length; ) {
    const { generation } = rows[start] as HistoryRow; // in bounds
    const next = rows.findIndex((row, index) => index > start && row.generation !== generation);
    const end = next === -1 ? rows.length : next;
    const together = rows.slice(start, end).map(changeOf);
    for (const change of together.sort((a, b) => stepOf(a) - stepOf(b))) changes.push(change);
    start = end;
  }
  return changes;
}

function changeOf({ kind, record, facts }: HistoryRow): FactChange {
  const change =
    kind === "policy-order"
      ? { kind, type: record, ids: facts ?? [] }
      : facts === null
        ? { kind, gone: record }
        : { kind, facts };
  return change as FactChange; // as `versionOf` wrote it
}

/** How a change is written down. */
export function versionOf(change: FactChange): HistoryVersion {
  if (change.kind === "policy-order") return { kind: change.kind, record: change.type, facts: change.ids };
  if ("gone" in change) return { kind: change.kind, record: change.gone, facts: undefined };
  return { kind: change.kind, record: change.facts.id, facts: change.facts };
}

/** @param rows the last versions up to a generation, of what was there */
export function factsOfHistory(rows: readonly HistoryRow[]): TenantFacts {
  const kept = <Facts>(kind: string) => rows.flatMap((row) => (row.kind === kind ? [row.facts as Facts] : [])); // of its kind
  return {
    users: kept("user"),
    groups: kept("group"),
    devices: kept("device"),
    gateways: kept("gateway"),
    resources: kept("resource"),
    rules: kept("rule"),
    policies: orderedPolicies(rows),
  };
}

/**
 * The last order that was written names the policies of its time; those that came later stand behind it, in the order in which
 * they came. A command that makes more than one writes their order.
 */
function orderedPolicies(rows: readonly HistoryRow[]): readonly PolicyFacts[] {
  const policies = rows.filter(({ kind }) => kind === "policy");
  const places = new Map<string, number>();
  for (const { kind, facts } of rows) {
    if (kind === "policy-order")
      for (const [place, id] of (facts as readonly string[]).entries()) places.set(id, place); // ids
  }
  const placeOf = ({ record }: HistoryRow) => places.get(record) ?? Number.POSITIVE_INFINITY;
  const inOrder = policies.sort((a, b) =>
    placeOf(a) === placeOf(b) ? a.firstGeneration - b.firstGeneration : placeOf(a) - placeOf(b),
  );
  const facts = inOrder.map((row) => row.facts as PolicyFacts); // of its kind
  return policyTypes.flatMap((type) => {
    const ofType = facts.filter((policy) => policy.type === type);
    return [...ofType.filter(({ isDefault }) => !isDefault), ...ofType.filter(({ isDefault }) => isDefault)];
  });
}
