/** Compares the records that decide access with the state that their latest audited change left. */
import { type OfferedProtocols, portsOf } from "@gatehouse/policy/model/protocol-lists";
import { finish } from "@gatehouse/policy/work";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { readHistoryAt } from "../history/history.queries.ts";
import { factsOfHistory } from "../history/history.ts";
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
  const rows = await readHistoryAt(tx, generation ?? 0);
  const history = finish(factsOfHistory(rows));
  // Versions from before rules read sessions do not contain them.
  const withoutSession = new Set(
    rows.flatMap((row) => (row.kind === "device" && !("session" in (row.facts ?? {})) ? [row.record] : [])),
  );
  return (Object.keys(nouns) as (keyof FactRows)[]).flatMap((kind) => {
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
}
