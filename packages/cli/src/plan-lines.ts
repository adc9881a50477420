/** A plan as text: one line for each record, and one for each field that changes. */
import type { ConfigurationChange, ConfigurationPlan, FieldChange } from "@gatehouse/contract/records/configuration";

/** The most items of a list in a line. Further items are counted. */
const shownItems = 10;

/** Longer values are truncated. */
const shownCharacters = 200;

const signs = { create: "+", update: "~", delete: "-" } as const;

export function planLines({ changes }: ConfigurationPlan): readonly string[] {
  return changes.flatMap((change) => [recordLine(change), ...change.fields.flatMap(fieldLines)]);
}

/** "3 to create, 1 to change, none to delete". */
export function summaryText({ summary }: ConfigurationPlan, verbs: readonly [string, string, string]): string {
  const counts = [summary.created, summary.updated, summary.deleted];
  return counts.map((count, index) => `${count === 0 ? "none" : count} ${verbs[index]}`).join(", ");
}

function recordLine({ action, kind, name, policyType, implied }: ConfigurationChange): string {
  const type = policyType === undefined ? "" : ` (${policyType})`;
  const why = implied === true ? ", loses references to deleted records" : "";
  return `${signs[action]} ${kind.replace("-", " ")} ${name}${type}${why}`;
}

function fieldLines({ field, before, after, added, removed }: FieldChange): readonly string[] {
  if (added === undefined && removed === undefined) return [`    ${field}: ${valueText(before)} → ${valueText(after)}`];
  return [
    ...(removed === undefined || removed.length === 0 ? [] : [`    ${field}: - ${itemsText(removed)}`]),
    ...(added === undefined || added.length === 0 ? [] : [`    ${field}: + ${itemsText(added)}`]),
  ];
}

function itemsText(items: readonly unknown[]): string {
  const shown = items.slice(0, shownItems).map(valueText).join(", ");
  return items.length > shownItems ? `${shown} and ${items.length - shownItems} more` : shown;
}

function valueText(value: unknown): string {
  if (value === null || value === undefined) return "none";
  if (Array.isArray(value)) return value.length === 0 ? "none" : `[${itemsText(value)}]`;
  if (typeof value === "object" && "address" in value) return addressText(value);
  const text = JSON.stringify(value);
  return text.length > shownCharacters ? `${text.slice(0, shownCharacters)}…` : text;
}

function addressText(address: object): string {
  const given = address as {
    readonly address: unknown;
    readonly protocols?: unknown;
    readonly answersWithin?: unknown;
  }; // as in a plan
  const { address: text, protocols, answersWithin } = given;
  const by = Array.isArray(protocols) && protocols.length > 0 ? ` (${protocols.join(", ")})` : "";
  const within = Array.isArray(answersWithin) ? ` within ${answersWithin.join(" or ")}` : "";
  return `${String(text)}${by}${within}`;
}
