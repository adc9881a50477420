import type * as operations from "@gatehouse/contract/operations/policies.operations";
import { AppError } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import { empty, type Outcome } from "../../platform/outcome.ts";
import { lockGeneration } from "../../platform/tenancy/generation.queries.ts";
import * as queries from "./policy-order.queries.ts";
import { planOrder } from "./policy-order.rules.ts";

export async function reorderPolicies(call: Call<typeof operations.reorderPolicies>): Promise<Outcome> {
  const { type, policies } = call.body;
  return call.command(async (tx) => {
    await queries.lockPolicyOrder(tx);
    const placed = await queries.lockPoliciesOfType(tx, type);
    // An order belongs to no single record.
    call.requireGeneration(await lockGeneration(tx));
    const plan = planOrder(placed, policies);
    if (!plan.ok) throw new AppError("incomplete_order", { detail: plan.detail, errors: plan.errors });
    if (plan.moved.length === 0) return empty();
    await queries.placePolicies(tx, call.granted, plan.moved, call.now);
    for (const { id, name, from, order } of plan.moved) {
      // The entry holds the move alone: one request can move many policies, and each may list thousands of records.
      const state = { id, name, type };
      tx.record({ type: "policy", id, name, before: { ...state, order: from }, after: { ...state, order } });
    }
    return empty();
  });
}
