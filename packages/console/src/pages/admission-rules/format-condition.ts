/** Conditions of admission rules in words. */
import { type Condition, readRule } from "./rule-conditions.ts";

const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const comparisons = { "==": "is", "!=": "is not", ">=": "is at least", "<=": "is at most" } as const;
const bound = /^now\.get(Hours|DayOfWeek)\("([^"\\]*)"\) (>=|<=|<|>) (\d{1,2})$/;

export interface SaidRule {
  /** How many of the conditions have to be met. */
  readonly match: "all" | "any";
  /** Each as a sentence without its end. */
  readonly conditions: readonly string[];
}

/** Undefined for a rule that says more than the builder knows. */
export function formatRule(text: string): SaidRule | undefined {
  const rule = readRule(text);
  return rule && { match: rule.match, conditions: [...new Set(rule.conditions.map(formatOne))] };
}

/** As a sentence without its end; undefined for what is not one of the conditions that the builder knows. */
export function formatCondition(text: string): string | undefined {
  const one = formatBound(text.trim());
  if (one !== undefined) return one;
  const rule = readRule(text);
  if (rule === undefined || rule.conditions.length !== 1) return undefined;
  const [condition] = rule.conditions;
  return condition && formatOne(condition);
}

function formatOne(condition: Condition): string {
  switch (condition.kind) {
    case "country":
      return `the request ${condition.not ? "does not come" : "comes"} from ${condition.countries.join(" or ")}`;
    case "days":
      return `it is ${condition.days.map((day) => days[day]).join(", ")} in ${condition.zone}`;
    case "hours":
      return `it is between ${formatHour(condition.from)} and ${formatHour(condition.to)} in ${condition.zone}`;
    case "group":
      return `the user is ${condition.not ? "not " : ""}in group ${condition.group}`;
    case "posture":
    case "user": {
      const whose = condition.kind === "user" ? "user's attribute" : "device's posture";
      return `the ${whose} “${formatName(condition.name)}” ${comparisons[condition.comparison]} ${condition.value}`;
    }
  }
}

/** One end of a span of hours or days, as a rule that was taken apart has it. */
function formatBound(text: string): string | undefined {
  const [, part, zone, sign, number] = bound.exec(text) ?? [];
  if (sign === undefined) return undefined;
  // The first hour or day that is meant, or the first that is not.
  const edge = Number(number) + (sign === ">" || sign === "<=" ? 1 : 0);
  const isFrom = sign.startsWith(">");
  if (part === "Hours")
    return `it is ${isFrom ? `${formatHour(edge)} or later` : `before ${formatHour(edge)}`} in ${zone}`;
  const day = days[isFrom ? edge : edge - 1];
  return day === undefined
    ? undefined
    : `it is ${day} or ${isFrom ? "later" : "earlier"} in the week, from Sunday on, in ${zone}`;
}

function formatHour(hour: number): string {
  return `${String(hour).padStart(2, "0")}:00`;
}

/** `diskEncrypted` is read as two words. */
function formatName(name: string): string {
  return name
    .replaceAll(/([a-z\d])([A-Z])/g, "$1 $2")
    .replaceAll("_", " ")
    .toLowerCase();
}
