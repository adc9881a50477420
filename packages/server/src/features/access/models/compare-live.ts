/** Compares the records that decide access, and the order of policies, with the state that their entries left. */
import { policyTypes } from "@gatehouse/contract/records/policy";
import type { PolicyFacts } from "@gatehouse/policy/model/facts";
import { type OfferedProtocols, portsOf } from "@gatehouse/policy/model/protocol-lists";
import { finish } from "@gatehouse/policy/work";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { auditedOrders } from "../history/audited-order.ts";
import { type HistoryRow, readHistoryAt } from "../history/history.queries.ts";
import { factsOfHistory } from "../history/history.ts";
import { readPolicyPositions } from "../history/policy-orders.queries.ts";
import { type FactRows, readAllFacts } from "./facts.queries.ts";

/** Fields that no entry contains: the observed state of gateways, and the ends of device sessions. */
const observedFields: Partial<Record<keyof FactRows, readonly string[]>> = {
  gateways: ["status", "load", "roundTripTimeMs"],
  devices: ["sessionEndsAt"],
};

/** Nouns of the kinds of facts. */
const nouns: Readonly<Record<keyof FactRows, string>> = {
  users: "user",
  groups: "group",
  devices: "device",
  gateways: "gateway",
  resources: "resource",
  rules: "admission rule",
  policies: "policy",
};

/** @returns the differences, as sentences */
export async function compareLiveFacts(tx: TenantTx): Promise<readonly string[]> {
  const { facts, generation } = await readAllFacts(tx);
  const rows = await withAuditedOrders(tx, await readHistoryAt(tx, generation ?? 0));
  const history = finish(factsOfHistory(rows));
  // Versions from before rules read sessions do not contain them.
  const withoutSession = new Set(
    rows.flatMap((row) => (row.kind === "device" && !("session" in (row.facts ?? {})) ? [row.record] : [])),
  );
  const found = (Object.keys(nouns) as (keyof FactRows)[]).flatMap((kind) => {
    const textOf = (record: { readonly id: string }) =>
      JSON.stringify(record, (key, value: unknown) => {
        if (observedFields[kind]?.includes(key) === true) return undefined;
        if (key === "session" && withoutSession.has(record.id)) return undefined;
        // Versions from before decision 0272 have the ports of all protocols in one list.
        return key === "protocols" && kind === "resources" ? portsOf(value as OfferedProtocols) : value; // of an address
      });
    const audited = new Map(history[kind].map((record) => [record.id, textOf(record)]));
    const found: string[] = [];
    for (const record of facts[kind]) {
      const known = audited.get(record.id);
      audited.delete(record.id);
      if (known === undefined) found.push(`The ${nouns[kind]} ${record.id} exists, and no entry created it.`);
      else if (known !== textOf(record)) {
        found.push(`The ${nouns[kind]} ${record.id} is not as its latest entry left it.`);
      }
    }
    for (const id of audited.keys()) found.push(`The ${nouns[kind]} ${id} is gone, but no entry records its deletion.`);
    return found;
  });
  return [...found, ...differingOrders(history.policies, await readPolicyPositions(tx))];
}

/** The history, with the orders of policies that entries explain instead of the stored ones. */
async function withAuditedOrders(tx: TenantTx, rows: readonly HistoryRow[]): Promise<readonly HistoryRow[]> {
  const isDefault = ({ kind, facts }: HistoryRow) => kind === "policy" && (facts as PolicyFacts).isDefault; // of a policy
  const orders = await auditedOrders(tx, new Set(rows.filter(isDefault).map(({ record }) => record)));
  return rows.map((row) => {
    const facts = row.kind === "policy-order" ? orders.get(row.record) : undefined;
    return facts === undefined ? row : { ...row, facts };
  });
}

/**
 * The first policy of each type that has another position. Missing and added policies are reported as such.
 *
 * @param audited the policies of each type, in their order
 * @param positions the positions in the database, by id
 */
function differingOrders(audited: readonly PolicyFacts[], positions: ReadonlyMap<string, number>): readonly string[] {
  return policyTypes.flatMap((type) => {
    const ids = audited.filter((policy) => policy.type === type).map(({ id }) => id);
    const index = ids.findIndex((id, at) => positions.has(id) && positions.get(id) !== at + 1);
    const id = ids[index];
    if (id === undefined) return [];
    const difference = `the policy ${id} has position ${positions.get(id)} instead of ${index + 1}`;
    return [`The order of the ${type} policies is not as their entries left it: ${difference}.`];
  });
}
