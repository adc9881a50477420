/** Differences between two settings of a record. */
import type { FieldChange } from "@gatehouse/contract/records/configuration";

/**
 * @param sets names of the fields whose order has no meaning
 *
 * @returns undefined for equal records
 */
export function fieldChanges<S extends object>(
  before: S,
  after: S,
  sets: readonly string[],
): readonly FieldChange[] | undefined {
  const fields = Object.keys(after) as (keyof S & string)[]; // the keys of an object of this type
  const changed = fields.flatMap((field): FieldChange[] => {
    const [old, now] = [before[field], after[field]];
    const isSame = old === now || JSON.stringify(old) === JSON.stringify(now);
    if (isSame) return [];
    if (sets.includes(field)) return [setChange(field, listed(old), listed(now))];
    if (isFacts(old) && isFacts(now)) return [{ field, before: differing(old, now), after: differing(now, old) }];
    return [{ field, before: old, after: now }];
  });
  return changed.length === 0 ? undefined : changed;
}

function setChange(field: string, before: readonly unknown[], after: readonly unknown[]): FieldChange {
  return { field, added: without(after, before), removed: without(before, after) };
}

/** The facts that are missing or different in the others. */
function differing(facts: Facts, others: Facts): Facts {
  return Object.fromEntries(
    Object.entries(facts).filter(([name, value]) => !Object.hasOwn(others, name) || others[name] !== value),
  );
}

type Facts = Readonly<Record<string, unknown>>;

function isFacts(value: unknown): value is Facts {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The items that are missing in the other list. */
function without(items: readonly unknown[], others: readonly unknown[]): unknown[] {
  const known = new Set(others.map((item) => JSON.stringify(item)));
  return items.filter((item) => !known.has(JSON.stringify(item)));
}

function listed(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
