/** How many devices or users have each value of a fact, and how many meet a condition. */
import type { ItemAt } from "@gatehouse/client/calls";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { paged } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import type { Comparison, Condition, Plain } from "../../records/rule-conditions.ts";

/** Records that are counted: those that were seen last. */
export const mostCounted = 100;

type Device = ItemAt<"/tenants/devices">;
type User = ItemAt<"/tenants/users">;
type Facts = Readonly<Record<string, unknown>>;

interface FactRecords {
  readonly facts: readonly Facts[];
  /** Names of the groups of each record. */
  readonly groups: readonly (readonly string[])[];
}

/** The facts of the records that were seen last. Undefined without the permission, and while they load. */
export function useFactRecords(kind: "posture" | "user"): FactRecords | undefined {
  const isPosture = kind === "posture";
  const canRead = usePermission(isPosture ? "devices:read" : "users:read");
  const path = isPosture ? "/tenants/devices" : "/tenants/users";
  const { data } = useQuery({
    queryKey: [path, "facts", kind],
    enabled: canRead,
    staleTime: 60_000,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }): Promise<FactRecords> => {
      const { data: rows } = await paged(path).read({ sort: "-lastConnection", limit: mostCounted }, signal);
      return {
        facts: rows.map((row) => factsOf(row)),
        groups: rows.map((row) => ("groups" in row ? row.groups.map(({ name }) => name) : [])),
      };
    },
  });
  return data;
}

function factsOf(record: Device | User): Facts {
  if ("posture" in record) return record.posture ?? {};
  return "attributes" in record ? record.attributes : {};
}

export function namesIn({ facts }: FactRecords): readonly string[] {
  return [...new Set(facts.flatMap((record) => Object.keys(record)))].sort();
}

/** Values of a fact with the number of records that have each, the most frequent first. */
export function valuesIn({ facts }: FactRecords, name: string): readonly (readonly [value: string, count: number])[] {
  const counts = new Map<string, number>();
  for (const record of facts) {
    const value = record[name];
    if (value !== undefined) counts.set(String(value), (counts.get(String(value)) ?? 0) + 1);
  }
  return [...counts].sort(([, one], [, other]) => other - one);
}

/** Number of records that meet the condition; undefined for conditions on time and place. */
export function countMet(condition: Condition, { facts, groups }: FactRecords): number | undefined {
  switch (condition.kind) {
    case "posture":
    case "user":
      return facts.filter((record) => compares(record[condition.name], condition.comparison, condition.value)).length;
    case "group":
      return groups.filter((names) => names.includes(condition.group) !== condition.not).length;
    default:
      return undefined;
  }
}

/** A missing fact meets no comparison. Values of different types are never ordered. */
function compares(found: unknown, comparison: Comparison, value: Plain): boolean {
  if (found === undefined) return false;
  if (comparison === "==") return found === value;
  if (comparison === "!=") return found !== value;
  if (typeof found !== typeof value || typeof found === "boolean") return false;
  const [left, right] = [found as string | number, value as string | number];
  return comparison === ">=" ? left >= right : left <= right;
}
