import type { Transaction } from "./database.ts";
import { statement } from "./statement.ts";

/** All constraints that are checked at COMMIT by default. A test compares them with the catalogue. */
export const deferredConstraints = ["gateways_relay_port_unique", "policies_order_unique"] as const;

const check = statement<never, []>("constraints.check", "SET CONSTRAINTS ALL IMMEDIATE");
const defer = statement<never, []>("constraints.defer", `SET CONSTRAINTS ${deferredConstraints.join(", ")} DEFERRED`);

/** Checks the deferred constraints now, in a transaction that continues. */
export async function checkDeferredConstraints({ query }: Transaction): Promise<void> {
  await Promise.all([query(check), query(defer)]);
}
