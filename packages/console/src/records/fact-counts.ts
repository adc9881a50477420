/** How many devices or users have each value of a fact, and how many meet a condition. */
import type { ItemAt } from "@gatehouse/client/calls";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { paged } from "../app/api.ts";
import { usePermission } from "../app/session.ts";
import type { Comparison, Condition, Plain } from "./rule-conditions.ts";

/** Records that are counted: those that were seen last. */
export const mostCounted = 100;

/** Posture that is suggested even if no device has reported it, with its usual values. */
export const usualPosture: Readonly<Record<string, readonly boolean[]>> = {
  diskEncrypted: [true, false],
  jailbroken: [false, true],
  osUpToDate: [true, false],
};

/** Facts of each user that are not attributes. */
const fieldsOfUsers = ["email", "firstName", "lastName", "status", "groups"];

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

export function namesIn({ facts }: Pick<FactRecords, "facts">): readonly string[] {
  return [...new Set(facts.flatMap((record) => Object.keys(record)))].sort();
}

/** Whether no record has the fact, so that a condition on it is never met. */
export function isUnreported(kind: "posture" | "user", name: string, { facts }: Pick<FactRecords, "facts">): boolean {
  if (name === "" || (kind === "user" && fieldsOfUsers.includes(name))) return false;
  return facts.every((record) => record[name] === undefined);
}

/** Whether the fact is either true or false. A value of another type would never match. */
export function isBoolean(kind: "posture" | "user", name: string, facts: readonly Facts[]): boolean {
  const found = facts.flatMap((record) => record[name] ?? []);
  if (found.length > 0) return found.every((value) => typeof value === "boolean");
  return kind === "posture" && Object.hasOwn(usualPosture, name);
}

/** The value that a person typed, in the type that records have: "yes" is true for a fact that is true or false. */
export function readFactValue(kind: "posture" | "user", name: string, text: string, facts: readonly Facts[]): Plain {
  if (text === "true" || text === "false") return text === "true";
  if (isBoolean(kind, name, facts)) {
    const word = text.trim().toLowerCase();
    if (["yes", "true"].includes(word)) return true;
    if (["no", "false"].includes(word)) return false;
  }
  return /^-?(0|[1-9]\d{0,8})$/.test(text) && text !== "-0" ? Number(text) : text;
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
