import { policyTypes } from "@gatehouse/contract/records/policy";
import fc from "fast-check";
import type { FactChange, FactsByKind, TenantFacts } from "../model/facts.ts";
import { changedFacts } from "./changed-facts.ts";
import { factsOf, ids, policiesOfType } from "./random-tenant.ts";

/**
 * A change that fits any state of a tenant. For example, an order of policies can be determined only when the existing
 * policies are known.
 */
export type Happening =
  | { readonly what: "change"; readonly change: FactChange }
  | { readonly what: "order"; readonly type: (typeof policyTypes)[number]; readonly sortKeys: readonly number[] };

const happening: fc.Arbitrary<Happening> = fc.oneof(
  { arbitrary: changesOf("user", ids.users), weight: 3 },
  { arbitrary: changesOf("group", ids.groups), weight: 2 },
  { arbitrary: changesOf("device", ids.devices), weight: 3 },
  { arbitrary: changesOf("gateway", ids.gateways), weight: 2 },
  { arbitrary: changesOf("resource", ids.resources), weight: 5 },
  { arbitrary: changesOf("rule", ids.rules), weight: 3 },
  { arbitrary: changesOf("policy", ids.policies), weight: 6 },
  { arbitrary: changesOf("policy", [ids.defaultPolicy]), weight: 1 },
  {
    arbitrary: fc
      .record({
        type: fc.constantFrom(...policyTypes),
        sortKeys: fc.array(fc.nat(100), { minLength: ids.policies.length, maxLength: ids.policies.length }),
      })
      .map((order): Happening => ({ what: "order", ...order })),
    weight: 3,
  },
);

/** Batches of one to four changes, because a command may change several records at once. */
export const randomHappenings: fc.Arbitrary<readonly (readonly Happening[])[]> = fc.array(
  fc.array(happening, { minLength: 1, maxLength: 4 }),
  { minLength: 1, maxLength: 6 },
);

/** Converts a batch to changes of the tenant's facts. */
export function changesIn(facts: TenantFacts, batch: readonly Happening[]): FactChange[] {
  const changes: FactChange[] = [];
  for (const each of batch) {
    const current = changedFacts(facts, changes);
    changes.push(each.what === "change" ? each.change : orderChange(current, each));
  }
  return changes;
}

function orderChange(facts: TenantFacts, { type, sortKeys }: Happening & { what: "order" }): FactChange {
  const keyed = policiesOfType(facts, type).map(({ id, isDefault }, index) => ({
    id,
    key: isDefault ? Number.POSITIVE_INFINITY : (sortKeys[index] ?? 0),
  }));
  const ordered = keyed.sort((a, b) => (a.key === b.key ? 0 : a.key - b.key));
  return { kind: "policy-order", type, ids: ordered.map(({ id }) => id) };
}

function changesOf<Kind extends keyof FactsByKind>(kind: Kind, pool: readonly string[]): fc.Arbitrary<Happening> {
  const facts: (id: string) => fc.Arbitrary<FactsByKind[Kind]> = factsOf[kind];
  return fc.constantFrom(...pool).chain((id) =>
    fc.oneof(
      // Kind and facts belong together, which a type parameter cannot express.
      {
        arbitrary: facts(id).map((now): Happening => ({ what: "change", change: { kind, facts: now } as FactChange })),
        weight: 3,
      },
      { arbitrary: fc.constant<Happening>({ what: "change", change: { kind, gone: id } }), weight: 1 },
    ),
  );
}
