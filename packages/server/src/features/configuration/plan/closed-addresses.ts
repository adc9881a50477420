import type { ProblemField } from "@gatehouse/contract/problem";
import type { Configuration } from "@gatehouse/contract/records/configuration";
import type { Work } from "@gatehouse/policy/work";
import { bodyField } from "../../../platform/app-error.ts";
import { checkAddress, closedAddressProblem } from "../../addresses/addresses.api.ts";
import { itemCost, smallRecordCost } from "../document/record-costs.ts";
import type { RecordChange, RecordChanges } from "./plan-changes.ts";

/** New private addresses in blocked ranges. Stored addresses stay valid, so that every export can be applied. */
export function* closedAddressProblems(
  { resource: changes }: RecordChanges,
  document: Configuration,
): Work<readonly ProblemField[]> {
  const problems: ProblemField[] = [];
  for (const change of changes) {
    yield smallRecordCost;
    if (change.action === "delete" || change.after.type !== "PRIVATE") continue;
    yield change.after.addresses.length * itemCost;
    const stored = storedAddresses(change);
    for (const { address } of change.after.addresses) {
      const message = stored.has(address) ? undefined : closedAddressProblem(address, change.after.type);
      if (message !== undefined) problems.push(bodyField(pointerOf(change, address, document), message));
    }
  }
  return problems;
}

type WrittenResource = Exclude<RecordChange<"resource">, { action: "delete" }>;

function storedAddresses(change: WrittenResource): ReadonlySet<string> {
  if (change.action === "create" || change.before.type !== change.after.type) return new Set();
  return new Set(change.before.addresses.map(({ address }) => address));
}

/** @param address in canonical form, unlike in the document */
function pointerOf(
  { pointer = "", after }: WrittenResource,
  address: string,
  { resources = [] }: Configuration,
): string {
  const entry = resources[Number(pointer.split("/").at(-1))];
  const index = entry?.addresses?.findIndex((written) => {
    const check = checkAddress(written.address, after.type);
    return check.ok && check.value.text === address;
  });
  return `${pointer}/addresses/${index}/address`;
}
