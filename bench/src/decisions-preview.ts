/** The cost of previewing the effect of one change on access. */
import { compareAccess } from "@gatehouse/policy/effects/compare-access";
import type { OpenCircumstances } from "@gatehouse/policy/effects/open-circumstances";
import type { FactChange, TenantFacts } from "@gatehouse/policy/model/facts";
import { type Model, update } from "@gatehouse/policy/model/model";
import { finish } from "@gatehouse/policy/work";

/** One kind of change, measured. */
export interface PreviewFigures {
  readonly name: string;
  /** Milliseconds of each round, from the change to the counts and groups, without the first round. */
  readonly times: readonly number[];
  /** The same rounds in CPU time. */
  readonly cpuTimes: readonly number[];
  /** Milliseconds to list the first 20 subjects of each of the first 100 groups, and the first 50 rows. */
  readonly listing: number;
  readonly pairs: number;
  readonly groups: number;
}

/** The name of the change that affects the most users and resources. */
export const widestChange = "a policy for all users and resources created";

/** The changes of a tenant that are previewed, by kind. */
function changesOf({ users, groups, resources, policies, rules }: TenantFacts): Readonly<Record<string, FactChange[]>> {
  const [allow, rule] = rules;
  const [, , , , , typical] = policies.filter(
    ({ action, allUsers, allResources }) => action && !allUsers && !allResources,
  );
  const [everywhere] = policies.filter(({ action, allResources }) => action && allResources);
  const [user, another] = users;
  if (!allow || !rule || !typical || !everywhere || !user || !another) throw new RangeError("The tenant is too small.");
  const created = { ...typical, id: "ffffffff-created", name: "Created", rule: allow.id };
  const widest = { ...created, allUsers: true, allResources: true };
  const ids = policies.map(({ id }) => id).filter((id) => id !== typical.id);
  const named = (places: readonly number[], records: readonly { readonly id: string }[]) =>
    places.flatMap((place) => records[place]?.id ?? []);
  return {
    "a policy for 3 groups and 10 resources created": [
      {
        kind: "policy",
        facts: {
          ...created,
          groups: named([1, 2, 3], groups),
          resources: named([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], resources),
        },
      },
    ],
    "a policy's groups changed": [{ kind: "policy", facts: { ...typical, groups: named([7], groups) } }],
    "a policy moved to the front": [{ kind: "policy-order", type: "PRIVATE", ids: [typical.id, ...ids] }],
    "a policy deactivated": [{ kind: "policy", facts: { ...typical, active: false } }],
    "a policy for all resources deactivated": [{ kind: "policy", facts: { ...everywhere, active: false } }],
    [widestChange]: [{ kind: "policy", facts: widest }],
    "the same with a rule": [{ kind: "policy", facts: { ...widest, rule: rule.id } }],
    "a user's groups changed": [{ kind: "user", facts: { ...user, groups: named([11, 12], groups) } }],
    "a user deactivated": [{ kind: "user", facts: { ...another, status: "inactive" } }],
  };
}

/** @param rounds the number of measurements of each change, after a first one that does not count */
export function measurePreviews(
  model: Model,
  facts: TenantFacts,
  circumstances: OpenCircumstances,
  rounds: number,
): readonly PreviewFigures[] {
  return Object.entries(changesOf(facts)).map(([name, changes]) => {
    const times: number[] = [];
    const cpuTimes: number[] = [];
    let difference = compareAccess(model, update(model, changes), changes, circumstances);
    for (let round = 0; round < rounds; round += 1) {
      const cpu = process.cpuUsage();
      const start = performance.now();
      difference = compareAccess(model, update(model, changes), changes, circumstances);
      times.push(performance.now() - start);
      const { user, system } = process.cpuUsage(cpu);
      cpuTimes.push((user + system) / 1_000);
    }
    const start = performance.now();
    finish(difference.rows({ offset: 0, limit: 50 }));
    for (const group of difference.groups.slice(0, 100)) finish(group.subjects({ offset: 0, limit: 20 }));
    const listing = performance.now() - start;
    const pairs = difference.gained.pairs + difference.lost.pairs;
    return { name, times, cpuTimes, listing, pairs, groups: difference.groups.length };
  });
}
