/** Conditions of admission rules in words. */
import { t } from "../../messages/i18n.ts";
import { formatFactInText, formatFactValue } from "../../records/format-fact.ts";
import { formatTimeOfDay } from "../../records/format-time-of-day.ts";
import { type BuiltRule, type Comparison, type Condition, readBound, readRule } from "../../records/rule-conditions.ts";

export const dayNames = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"] as const;

/** The keys of the words for comparisons in the catalogue. */
export const comparisonKeys = { "==": "is", "!=": "isNot", ">=": "atLeast", "<=": "atMost" } as const satisfies Record<
  Comparison,
  string
>;

export interface RuleInWords {
  /** Whether all of the conditions must be met, or any. */
  readonly match: "all" | "any";
  /** Each as a sentence without a full stop. */
  readonly conditions: readonly string[];
}

/** Describes a built-in rule by its type. */
export function formatBuiltIn(type: string): string {
  return type === "DENY" ? t("admissionRules.builtIn.DENY") : t("admissionRules.builtIn.ALLOW");
}

/** Returns undefined for a rule that the builder does not support. */
export function formatRule(text: string): RuleInWords | undefined {
  const rule = readRule(text);
  return rule && { match: rule.match, conditions: [...new Set(formatAll(rule))] };
}

/** Formats days and hours of one time zone as one condition, such as "Monday to Friday, 07:00–20:00 (UTC)". */
function formatAll({ match, conditions }: BuiltRule): readonly string[] {
  const [days, hours] = [conditions.find(isDays), conditions.find(isHours)];
  const isJoint =
    match === "all" &&
    days !== undefined &&
    hours !== undefined &&
    days.zone === hours.zone &&
    // Hours that end on the next day would read as if that day need not be one of the days.
    hours.from < hours.to &&
    conditions.filter((condition) => isDays(condition) || isHours(condition)).length === 2;
  if (!isJoint) return conditions.map(formatOne);
  const { from, to, zone } = hours;
  const values = { days: formatDays(days.days), from: formatTimeOfDay(from), to: formatTimeOfDay(to), zone };
  const joint = t("admissionRules.conditions.daysAndHours", values);
  const first = conditions.find((condition) => isDays(condition) || isHours(condition));
  return conditions.flatMap((condition) =>
    condition === first ? [joint] : isDays(condition) || isHours(condition) ? [] : [formatOne(condition)],
  );
}

const isDays = (condition: Condition) => condition.kind === "days";
const isHours = (condition: Condition) => condition.kind === "hours";

/** Returns a sentence without a full stop, or undefined for a condition that the builder does not support. */
export function formatCondition(text: string): string | undefined {
  const one = formatBound(text.trim());
  if (one !== undefined) return one;
  const rule = readRule(text);
  if (rule === undefined || rule.conditions.length !== 1) return undefined;
  const [condition] = rule.conditions;
  return condition && formatOne(condition);
}

/** Returns a sentence without a full stop. */
export function formatOne(condition: Condition): string {
  switch (condition.kind) {
    case "country": {
      const countries = formatAlternatives(condition.countries);
      return condition.not
        ? t("admissionRules.conditions.countryNot", { countries })
        : t("admissionRules.conditions.country", { countries });
    }
    case "days":
      return t("admissionRules.conditions.days", {
        days: formatDays(condition.days),
        zone: condition.zone,
      });
    case "hours":
      return t(`admissionRules.conditions.${condition.from > condition.to ? "hoursOvernight" : "hours"}`, {
        from: formatTimeOfDay(condition.from),
        to: formatTimeOfDay(condition.to),
        zone: condition.zone,
      });
    case "group":
      return condition.not
        ? t("admissionRules.conditions.groupNot", { group: condition.group })
        : t("admissionRules.conditions.group", { group: condition.group });
    case "tag":
      return condition.not
        ? t("admissionRules.conditions.tagNot", { tag: condition.tag })
        : t("admissionRules.conditions.tag", { tag: condition.tag });
    case "session":
      return t(`admissionRules.conditions.${condition.unit === "h" ? "sessionHours" : "sessionMinutes"}`, {
        count: condition.amount,
      });
    case "agent":
      return t(`admissionRules.conditions.${condition.not ? "agentNot" : "agent"}`);
    case "posture":
    case "user":
      return formatFactCondition(condition);
  }
}

type FactCondition = Extract<Condition, { readonly kind: "posture" | "user" }>;

/** A label that ends in a preposition needs no verb before its value: "managed by “company”". */
const endsInPreposition = /\b(?:at|by|for|from|in|of|on|to|with)$/;
/** The state at the end of a label. "Not" stands before it: "disk not encrypted", "is not admin". */
const state = /\b(?:\w+ed|up to date|active|compliant|on|running)$|(?<=^is )/;

const people = "admin|intern|guest|student|owner|partner|leader|member|nurse|employee";
const peopleEndings = "[cst]tor|strator|visor|inee|loper|nager|rker|neer|ician|ultant|ountant|istant";
/** A label that says what a person is, such as "external contractor" or "is admin". Other labels are states. */
const person = new RegExp(String.raw`^(is )?((?:[\w ]+ )?(?:${people}|\w+(?:${peopleEndings})))$`);
/** "An" stands before these. */
const vowel = /^(?!eu|uni|us)[aeiou]/;

/**
 * Formats a condition such as "not a contractor" or "managed by “company”". The label is lower case, and a text
 * value is quoted.
 */
function formatFactCondition({ kind, name: fact, comparison, value }: FactCondition): string {
  const name = formatFactInText(fact);
  const [, is, noun] = (kind === "user" && person.exec(name)) || [];
  const isEquality = comparison === "==" || comparison === "!=";
  if (isEquality && typeof value === "boolean") {
    const isMet = value === (comparison === "==");
    if (noun !== undefined) return formatPerson(noun, isMet, is !== undefined);
    return isMet ? name : formatNot(name);
  }
  const words =
    typeof value === "string" && !/^\d+(?:\.\d+)*$/.test(value)
      ? t("common.quoted", { text: value })
      : formatFactValue(value).toLowerCase();
  if (isEquality && endsInPreposition.test(name)) {
    const key = comparison === "==" ? "factWithValue" : "factWithoutValue";
    return t(`admissionRules.conditions.${key}`, { name, value: words });
  }
  return t("admissionRules.conditions.fact", {
    name,
    comparison: t(`admissionRules.builder.comparisons.${comparisonKeys[comparison]}`),
    value: words,
  });
}

/** Such as "a contractor", "not an intern" or "is not an admin". */
function formatPerson(name: string, isMet: boolean, hasVerb: boolean): string {
  const someone = t(`admissionRules.conditions.${vowel.test(name) ? "anPerson" : "aPerson"}`, { name });
  if (hasVerb) return t(`admissionRules.conditions.${isMet ? "person" : "personNot"}`, { person: someone });
  return isMet ? someone : t("admissionRules.conditions.factNot", { name: someone });
}

function formatNot(name: string): string {
  const at = name.search(state);
  return at > 0
    ? t("admissionRules.conditions.factStateNot", { name: name.slice(0, at).trim(), state: name.slice(at) })
    : t("admissionRules.conditions.factNot", { name });
}

/** One bound of a range of hours or days, as it appears in an explanation that lists the parts of a rule. */
function formatBound(text: string): string | undefined {
  const found = readBound(text);
  if (found === undefined) return undefined;
  const { part, zone, isFrom, edge } = found;
  if (part === "hours") {
    const values = { hour: formatTimeOfDay(edge), zone };
    return isFrom ? t("admissionRules.conditions.hourFrom", values) : t("admissionRules.conditions.hourUntil", values);
  }
  const day = formatDay(isFrom ? edge : edge - 1);
  if (day === undefined) return undefined;
  return isFrom
    ? t("admissionRules.conditions.dayFrom", { day, zone })
    : t("admissionRules.conditions.dayUntil", { day, zone });
}

/** Such as "Monday to Friday", or "Monday or Friday" for days that are not consecutive. */
function formatDays(days: readonly number[]): string {
  const names = days.map((day) => formatDay(day) ?? String(day));
  const isRange = days.length > 2 && days.every((day, index) => index === 0 || day === (days[index - 1] ?? day) + 1);
  return isRange
    ? t("admissionRules.conditions.dayRange", { first: names[0] ?? "", last: names.at(-1) ?? "" })
    : formatAlternatives(names);
}

/** @param day 0 for Sunday */
function formatDay(day: number): string | undefined {
  const name = dayNames[day];
  return name && t(`admissionRules.days.${name}`);
}

/** Such as "a, b or c". */
function formatAlternatives(items: readonly string[]): string {
  if (items.length < 2) return items.join();
  return t("admissionRules.conditions.or", { names: items.slice(0, -1).join(", "), last: items.at(-1) ?? "" });
}
