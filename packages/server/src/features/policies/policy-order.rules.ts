import type { ProblemField } from "@gatehouse/contract/problem";
import type { PlacedPolicy } from "./policy-order.queries.ts";

/** A policy with a new position. */
export interface MovedPolicy {
  readonly id: string;
  readonly name: string;
  readonly from: number;
  readonly order: number;
}

export type OrderPlan =
  | { readonly ok: true; readonly moved: readonly MovedPolicy[] }
  | { readonly ok: false; readonly detail: string; readonly errors: readonly ProblemField[] };

/** The number of fields that one answer lists at most. */
const reportedFields = 50;

/**
 * Validates a list of ids as the new order of a type. It must name each policy once; the default policy is last or left
 * out (contract, reorder).
 *
 * @param current all policies of the type
 */
export function planOrder(current: readonly PlacedPolicy[], requested: readonly string[]): OrderPlan {
  const policies = new Map(current.map((policy) => [policy.id, policy]));
  const wanted = new Set<PlacedPolicy>();
  const wrong: ProblemField[] = [];
  for (const [index, id] of requested.entries()) {
    const policy = policies.get(id.toLowerCase());
    const pointer = `/policies/${index}`;
    if (policy === undefined) {
      wrong.push({ pointer, message: `no policy of this type has the id ${JSON.stringify(id)}` });
    } else if (wanted.has(policy)) {
      wrong.push({ pointer, message: `${policy.name} is already in the list` });
    } else {
      if (policy.is_default && index < requested.length - 1) {
        wrong.push({ pointer, message: `${policy.name} is the default policy, which is always last` });
      }
      wanted.add(policy);
    }
  }
  const missing = current.filter((policy) => !policy.is_default && !wanted.has(policy));
  if (wrong.length + missing.length > 0) {
    return {
      ok: false,
      detail: `Missing policies of this type: ${missing.length}. Invalid entries: ${wrong.length}.`,
      errors: [
        // Each kind of problem gets half of the room, so that neither hides the other.
        ...wrong.slice(0, Math.max(reportedFields / 2, reportedFields - missing.length)),
        ...missing.map(({ id, name }) => ({ pointer: "/policies", message: `${name} is missing, id ${id}` })),
      ].slice(0, reportedFields),
    };
  }
  const last = current.filter((policy) => policy.is_default && !wanted.has(policy));
  const moved = [...wanted, ...last].flatMap(({ id, name, order }, index) =>
    order === index + 1 ? [] : [{ id, name, from: order, order: index + 1 }],
  );
  return { ok: true, moved };
}
