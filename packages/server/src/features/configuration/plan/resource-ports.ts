import type { ProblemField } from "@gatehouse/contract/problem";
import type { Work } from "@gatehouse/policy/work";
import { bodyField } from "../../../platform/app-error.ts";
import { portProblem } from "../../addresses/addresses.api.ts";
import { itemCost, smallRecordCost } from "../document/record-costs.ts";
import type { ProtocolSettings, ResourceSettings } from "../document/settings.ts";
import type { TenantRecords } from "../tenant-records.ts";
import type { TenantPlan } from "./plan-changes.ts";

/** Resources that get more ports than a resource can have, by their own addresses or by changed protocols. */
export function* portProblems(
  { changes, next }: Pick<TenantPlan, "changes" | "next">,
  current: Pick<TenantRecords, "protocol" | "resource">,
): Work<readonly ProblemField[]> {
  const grown = new Map<string, string>();
  for (const change of changes.protocol) {
    yield smallRecordCost;
    if (change.action !== "update" || portsIn(change.after) <= portsIn(change.before)) continue;
    grown.set(change.key, change.pointer ?? "");
  }
  // Protocols with more ports concern all resources that use them, even those that the document does not contain.
  const concerned = grown.size > 0 ? next.resource.keys() : changes.resource.map(({ key }) => key);
  const problems: ProblemField[] = [];
  for (const key of concerned) {
    yield smallRecordCost;
    const after = next.resource.get(key);
    if (after === undefined) continue;
    const ports = yield* countPorts(after.settings, next.protocol);
    const message = portProblem(ports);
    if (message === undefined) continue;
    const before = current.resource.get(key);
    if (before !== undefined && ports <= (yield* countPorts(before.settings, current.protocol))) continue;
    const used = after.settings.addresses.flatMap(({ protocols }) => protocols.find((name) => grown.has(name)) ?? []);
    const pointer = after.pointer === undefined ? grown.get(used[0] ?? "") : `${after.pointer}/addresses`;
    problems.push(bodyField(pointer ?? "", `${key}: ${message}`));
  }
  return problems;
}

function* countPorts(
  { addresses }: ResourceSettings,
  protocols: ReadonlyMap<string, { readonly settings: ProtocolSettings }>,
): Work<number> {
  let ports = 0;
  for (const { protocols: names } of addresses) {
    yield smallRecordCost + names.length * itemCost;
    for (const name of names) {
      const protocol = protocols.get(name);
      if (protocol !== undefined) ports += portsIn(protocol.settings);
    }
  }
  return ports;
}

function portsIn({ networkProtocols }: ProtocolSettings): number {
  return networkProtocols.length;
}
