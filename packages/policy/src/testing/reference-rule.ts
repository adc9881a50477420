import { type ASTNode, Environment } from "@marcbachmann/cel-js";
import { RE2JS } from "re2js";
import { checkRuleText } from "../admission-rules/check-rule.ts";
import { TIME_PARTS } from "../admission-rules/rule-language.ts";
import { walkRule } from "../admission-rules/rule-syntax.ts";

/**
 * "Admission rule text" of the contract, evaluated without optimizations: every variable is dynamic, which gives
 * well-typed rules the same meaning. Only the parser library is shared with the engine.
 */

/**
 * Unknown variables are absent. Records are maps, because attributes may have the names of inherited object properties.
 */
export interface RuleVariables {
  readonly user?: ReadonlyMap<string, unknown>;
  readonly device?: ReadonlyMap<string, unknown>;
  readonly source: ReadonlyMap<string, unknown>;
  /** Without `age`, which is added. */
  readonly session?: ReadonlyMap<string, unknown>;
  readonly resource?: ReadonlyMap<string, unknown>;
  readonly now: Date;
}

export interface ReferenceRule {
  /** Whether the rule gives true. Any other value or an error is not met. */
  isMet(variables: RuleVariables): boolean;
  readonly readsNow: boolean;
}

/** Caches that depend only on the text of a rule or on the name of a zone. */
const rules = new Map<string, ReferenceRule>();
const zones = new Map<string, Intl.DateTimeFormat>();

/** The rule of a text. An invalid text is never met. */
export function referenceRule(text: string): ReferenceRule {
  const known = rules.get(text);
  if (known !== undefined) return known;
  const rule = readRule(text);
  rules.set(text, rule);
  return rule;
}

function readRule(text: string): ReferenceRule {
  const check = checkRuleText(text);
  if (!check.ok) return { isMet: () => false, readsNow: false };
  const rule = ruleLanguage().parse(text);
  walkRule(rule.ast, (node) => {
    replaceCall(node);
    return true;
  });
  const isMet = (variables: RuleVariables) => {
    try {
      // The library's context is an object by variable name.
      return rule({ ...variables, ...withAge(variables) }) === true;
    } catch {
      return false;
    }
  };
  return { isMet, readsNow: check.readsNow };
}

/** The variable `session` with the age: the time since the authentication, as the library computes it. */
function withAge({ session, now }: RuleVariables): object {
  if (session === undefined) return {};
  const age: unknown = timeSince({ now, at: session.get("authenticatedAt") });
  return { session: new Map([...session, ["age", age]]) };
}

/** Renames calls for which the library would use the host's RegExp or time zone. */
function replaceCall(node: ASTNode): void {
  if (node.op !== "rcall") return;
  const [name, , args] = node.args;
  if (name === "matches") node.args[0] = "matchesRe2";
  else if (TIME_PARTS.has(name)) node.args[0] = args.length === 0 ? `${name}InUtc` : `${name}InZone`;
}

function ruleLanguage(): Environment {
  const language = new Environment({ unlistedVariablesAreDyn: true, homogeneousAggregateLiterals: false })
    .registerVariable("now", "google.protobuf.Timestamp")
    .registerFunction("string.matchesRe2(string): bool", (text: string, pattern: string) =>
      RE2JS.compile(pattern).matcher(text).find(),
    );
  for (const [name, part] of Object.entries(timeParts)) {
    language
      .registerFunction(`google.protobuf.Timestamp.${name}InUtc(): int`, (at: Date) =>
        BigInt(part(localTime(at, "UTC"))),
      )
      .registerFunction(`google.protobuf.Timestamp.${name}InZone(string): int`, (at: Date, zone: string) =>
        BigInt(part(localTime(at, zone))),
      );
  }
  for (const [name, lengthMs] of Object.entries(durationPartsMs)) {
    language.registerFunction(`google.protobuf.Duration.${name}InUtc(): int`, (duration: { valueOf(): number }) =>
      BigInt(Math.trunc(duration.valueOf() / lengthMs)),
    );
  }
  return language;
}

/** The local time of a zone in the UTC fields of a date. */
function localTime(at: Date, timeZone: string): Date {
  const shown = new Map(
    zoneOf(timeZone)
      .formatToParts(at)
      .map(({ type, value }) => [type, Number(value)] as const),
  );
  const part = (type: Intl.DateTimeFormatPartTypes) => shown.get(type) ?? Number.NaN;
  const whole = Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"), part("second"));
  return new Date(whole + at.getUTCMilliseconds());
}

/** @throws RangeError for an unknown time zone */
function zoneOf(timeZone: string): Intl.DateTimeFormat {
  const known = zones.get(timeZone);
  if (known !== undefined) return known;
  const numeric = "numeric";
  const zone = new Intl.DateTimeFormat("en-US", {
    timeZone,
    calendar: "gregory",
    numberingSystem: "latn",
    hourCycle: "h23",
    year: numeric,
    month: numeric,
    day: numeric,
    hour: numeric,
    minute: numeric,
    second: numeric,
  });
  zones.set(timeZone, zone);
  return zone;
}

/**
 * Months, days of the month and days of the year start at 0, except for `getDate`, like in CEL's standard definitions.
 */
const timeParts: Readonly<Record<string, (local: Date) => number>> = {
  getFullYear: (local) => local.getUTCFullYear(),
  getMonth: (local) => local.getUTCMonth(),
  getDate: (local) => local.getUTCDate(),
  getDayOfMonth: (local) => local.getUTCDate() - 1,
  getDayOfWeek: (local) => local.getUTCDay(),
  getDayOfYear: (local) => Math.floor((local.getTime() - Date.UTC(local.getUTCFullYear(), 0, 1)) / 86_400_000),
  getHours: (local) => local.getUTCHours(),
  getMinutes: (local) => local.getUTCMinutes(),
  getSeconds: (local) => local.getUTCSeconds(),
  getMilliseconds: (local) => local.getUTCMilliseconds(),
};

/** Methods of the same names on durations return the whole duration in hours, minutes and so on. */
const durationPartsMs: Readonly<Record<string, number>> = {
  getHours: 3_600_000,
  getMinutes: 60_000,
  getSeconds: 1_000,
};

const timeSince = ruleLanguage().parse("now - at");
