import type { Transaction } from "./database.ts";
import { statement } from "./statement.ts";

/** Every constraint that is checked at COMMIT unless a transaction says otherwise; a test compares with the catalogue. */
export const deferredConstraints = ["gateways_relay_port_unique", "policies_order_unique"] as const;

const check = statement<never, []>("constraints.check", "SET CONSTRAINTS ALL IMMEDIATE");
const defer = statement<never, []>("constraints.defer", `SET CONSTRAINTS ${deferredConstraints.join(", ")} DEFERRED`);

/** Checks what a COMMIT would check, in a transaction that goes on. */
export async function checkDeferredConstraints({ query }: Transaction): Promise<void> {
  await Promise.all([query(check), query(defer)]);
}
