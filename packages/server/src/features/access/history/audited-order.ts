/**
 * The order of policies according to their entries.
 *
 * A command that moves or creates policies stores the order that it left in the database. An edit of the database is
 * part of that order. The edit therefore must not count, unless an entry of the command moves the policy.
 */
import { readStub } from "../../../platform/audit/record.queries.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { readPolicyCreations, readPolicyMoves, readStoredOrders, type StoredOrder } from "./policy-orders.queries.ts";

export interface OrderOrigins {
  /** The generation of the creation of each policy. */
  readonly createdIn: ReadonlyMap<string, number>;
  /** The policies that entries of the order's command moved. */
  readonly moved: ReadonlySet<string>;
  /** Default policies. They are always last, and their entries show no moves. */
  readonly defaults: ReadonlySet<string>;
}

/**
 * The order that a command's entries explain. New and moved policies have their stored positions. The others are
 * between them in their previous order.
 *
 * @param previous the order before the command. Policies that it lacks were created later, one after another
 */
export function explainedOrder(
  previous: readonly string[],
  { generation, ids }: Pick<StoredOrder, "generation" | "ids">,
  { createdIn, moved, defaults }: OrderOrigins,
): readonly string[] {
  const creation = (id: string) => createdIn.get(id) ?? generation;
  const isExplained = (id: string) => creation(id) >= generation || moved.has(id) || defaults.has(id);
  const positions = new Map(previous.map((id, index) => [id, index]));
  const position = (id: string) => positions.get(id) ?? previous.length;
  const others = ids
    .filter((id) => !isExplained(id))
    .sort((a, b) => position(a) - position(b) || creation(a) - creation(b))
    .values();
  return ids.map((id) => (isExplained(id) ? id : (others.next().value ?? id)));
}

/**
 * The last explained order of each type that has stored orders. Retention deletes the entries of old orders, so these
 * are accepted as they are. The seals cover them.
 */
export async function auditedOrders(
  tx: TenantTx,
  defaults: ReadonlySet<string>,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const createdIn = await readPolicyCreations(tx);
  const prunedThrough = (await readStub(tx))?.generation ?? 0;
  const orders = new Map<string, readonly string[]>();
  let after = { type: "", generation: 0 };
  for (;;) {
    const page = await readStoredOrders(tx, after);
    const moves = await readPolicyMoves(
      tx,
      page.map(({ generation }) => generation),
    );
    for (const stored of page) {
      const moved = moves.get(stored.generation) ?? new Set();
      const explained =
        stored.generation <= prunedThrough
          ? stored.ids
          : explainedOrder(orders.get(stored.type) ?? [], stored, { createdIn, moved, defaults });
      orders.set(stored.type, explained);
    }
    const last = page.at(-1);
    if (last === undefined) return orders;
    after = last;
  }
}
