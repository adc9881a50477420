/**
 * The rules that the builder supports: conditions on country, time, devices and users, of which all or any must be met.
 * A rule is stored as text only. A rule that the builder cannot parse remains text.
 */

const minutesPerHour = 60;
export const minutesPerDay = 1440;

export type Plain = string | number | boolean;
export type Comparison = "==" | "!=" | ">=" | "<=";

export type Condition =
  | { readonly kind: "country"; readonly not: boolean; readonly countries: readonly string[] }
  /** Day 0 is Sunday. */
  | { readonly kind: "days"; readonly zone: string; readonly days: readonly number[] }
  /**
   * Minutes since midnight: `from` is included, `to` is not. If `from` is later than `to`, the window spans midnight.
   */
  | { readonly kind: "hours"; readonly zone: string; readonly from: number; readonly to: number }
  | {
      readonly kind: "posture" | "user";
      readonly name: string;
      readonly comparison: Comparison;
      readonly value: Plain;
    }
  | { readonly kind: "group"; readonly not: boolean; readonly group: string }
  | { readonly kind: "tag"; readonly not: boolean; readonly tag: string }
  /** The user signed in on the device less than this time ago. */
  | { readonly kind: "session"; readonly amount: number; readonly unit: SessionUnit }
  /** The device runs the agent. */
  | { readonly kind: "agent"; readonly not: boolean };

/** Minutes or hours, as durations of rules name them. */
export type SessionUnit = "m" | "h";

export interface BuiltRule {
  readonly match: "all" | "any";
  readonly conditions: readonly Condition[];
}

export function writeRule({ match, conditions }: BuiltRule): string {
  const texts = conditions.map((condition) => {
    const text = writeCondition(condition);
    // A condition that contains "and" needs parentheses next to "or".
    return match === "any" && conditions.length > 1 && condition.kind === "hours" && !text.startsWith("(")
      ? `(${text})`
      : text;
  });
  return texts.join(match === "all" ? " &&\n" : " ||\n");
}

function writeCondition(condition: Condition): string {
  switch (condition.kind) {
    case "country":
      return negated(condition.not, `source.country in [${condition.countries.map(quote).join(", ")}]`);
    case "days":
      return `now.getDayOfWeek(${quote(condition.zone)}) in [${condition.days.join(", ")}]`;
    case "hours":
      return writeWindow(condition);
    case "posture":
      return `device.posture.${condition.name} ${condition.comparison} ${JSON.stringify(condition.value)}`;
    case "user":
      return `user.${condition.name} ${condition.comparison} ${JSON.stringify(condition.value)}`;
    case "group":
      return negated(condition.not, `${quote(condition.group)} in user.groups`);
    case "tag":
      return negated(condition.not, `${quote(condition.tag)} in device.tags`);
    case "session":
      return `session.age < duration("${condition.amount}${condition.unit}")`;
    case "agent":
      return negated(condition.not, "device.agent");
  }
}

/** Whole hours need no minutes, and are easier to read without them. */
function writeWindow({ zone, from, to }: Extract<Condition, { readonly kind: "hours" }>): string {
  const hours = `now.getHours(${quote(zone)})`;
  const isWhole = from % minutesPerHour === 0 && to % minutesPerHour === 0;
  const clock = isWhole ? hours : `${hours} * 60 + now.getMinutes(${quote(zone)})`;
  const [low, high] = isWhole ? [from / minutesPerHour, to / minutesPerHour] : [from, to];
  return from > to ? `(${clock} >= ${low} || ${clock} < ${high})` : `${clock} >= ${low} && ${clock} < ${high}`;
}

const quote = (text: string): string => JSON.stringify(text);
const negated = (not: boolean, text: string): string => (not ? `!(${text})` : text);

/** Returns undefined for a rule that the builder does not support. */
export function readRule(text: string): BuiltRule | undefined {
  if (text.trim() === "") return { match: "all", conditions: [] };
  const alternatives = split(text, "||");
  if (alternatives === undefined) return undefined;
  if (alternatives.length > 1) {
    const conditions = alternatives.map((part) => {
      const found = readAll(part);
      return found?.length === 1 ? found[0] : undefined;
    });
    return conditions.every((condition) => condition !== undefined) ? { match: "any", conditions } : undefined;
  }
  const conditions = readAll(text);
  return conditions && { match: "all", conditions };
}

/** Parses conditions that are joined by "and". */
function readAll(text: string): readonly Condition[] | undefined {
  const parts = split(unwrapped(text), "&&");
  if (parts === undefined) return undefined;
  const found: Condition[] = [];
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index] ?? "";
    const range = readRange(part, parts[index + 1] ?? "");
    if (range !== undefined) {
      found.push(range);
      index++;
      continue;
    }
    const condition = readCondition(part);
    if (condition === undefined) return undefined;
    found.push(condition);
  }
  return found;
}

/** One end of a range of days or of times of day. */
export interface Bound {
  readonly part: "days" | "hours";
  readonly zone: string;
  /** Whether the range begins or ends there. */
  readonly isFrom: boolean;
  /** The first day or minute of the day that is inside the range, or the first that is outside. */
  readonly edge: number;
}

const dayOrHour = /^now\.get(Hours|DayOfWeek)\(("[^"\\]*")\) (>=|<=|<|>) (\d{1,2})$/;
const minute = /^now\.getHours\(("[^"\\]*")\) \* 60 \+ now\.getMinutes\(("[^"\\]*")\) (>=|<=|<|>) (\d{1,4})$/;

/** Reads a comparison with the day, the hour or the minute of the day. */
export function readBound(text: string): Bound | undefined {
  const [, part, quotedZone, sign, number] = dayOrHour.exec(text) ?? [];
  if (sign !== undefined) {
    const edge = edgeOf(sign, number);
    const [kind, unit] = part === "Hours" ? (["hours", minutesPerHour] as const) : (["days", 1] as const);
    return boundAt(kind, quotedZone, sign, edge * unit);
  }
  const [, zone, sameZone, minuteSign, minutes] = minute.exec(text) ?? [];
  if (minuteSign === undefined || zone !== sameZone) return undefined;
  return boundAt("hours", zone, minuteSign, edgeOf(minuteSign, minutes));
}

function edgeOf(sign: string, number = ""): number {
  return Number(number) + (sign === ">" || sign === "<=" ? 1 : 0);
}

function boundAt(part: Bound["part"], quotedZone = "", sign: string, edge: number): Bound | undefined {
  const zone = readQuoted(quotedZone);
  if (zone === undefined || edge > (part === "hours" ? minutesPerDay : 7)) return undefined;
  return { part, zone, isFrom: sign.startsWith(">"), edge };
}

function readRange(first: string, second: string): Condition | undefined {
  const [low, high] = [readBound(first.trim()), readBound(second.trim())];
  if (low === undefined || high === undefined || low.part !== high.part || low.zone !== high.zone) return undefined;
  const { zone, edge: from } = low;
  const { edge: to } = high;
  if (!low.isFrom || high.isFrom || from >= to) return undefined;
  if (low.part === "hours") return { kind: "hours", zone, from, to };
  return { kind: "days", zone, days: Array.from({ length: to - from }, (_, day) => from + day) };
}

const literal = String.raw`("(?:[^"\\]|\\.)*"|true|false|-?\d{1,15}(?:\.\d+)?)`;
const comparing = new RegExp(String.raw`^(user|device\.posture)\.([A-Za-z_]\w*|) (==|!=|>=|<=) ${literal}$`);
function readCondition(text: string): Condition | undefined {
  const part = unwrapped(text);
  const not = /^!\s*\(([\s\S]*)\)$/.exec(part);
  if (not !== null && isWhole(part.slice(part.indexOf("(")))) {
    const inner = readCondition(not[1] ?? "");
    return inner !== undefined && "not" in inner && !inner.not ? { ...inner, not: true } : undefined;
  }
  const night = readOvernight(part);
  if (night !== undefined) return night;
  const country = /^source\.country in (\[.*\])$/.exec(part);
  if (country !== null) {
    const countries = readList(country[1] ?? "", (value): value is string => typeof value === "string");
    return countries && { kind: "country", not: false, countries };
  }
  const days = /^now\.getDayOfWeek\(("[^"\\]*")\) in (\[.*\])$/.exec(part);
  if (days !== null) {
    const zone = readQuoted(days[1] ?? "");
    const listed = readList(days[2] ?? "", (value): value is number => Number.isInteger(value));
    return zone === undefined || listed?.every((day) => day >= 0 && day <= 6) !== true
      ? undefined
      : { kind: "days", zone, days: listed };
  }
  const member = /^("(?:[^"\\]|\\.)*") in (user\.groups|device\.tags)$/.exec(part);
  if (member !== null) {
    const name = readQuoted(member[1] ?? "");
    if (name === undefined) return undefined;
    return member[2] === "user.groups"
      ? { kind: "group", not: false, group: name }
      : { kind: "tag", not: false, tag: name };
  }
  const [, amount, unit] = /^session\.age < duration\("(0|[1-9]\d{0,5})([mh])"\)$/.exec(part) ?? [];
  if (unit === "m" || unit === "h") return { kind: "session", amount: Number(amount), unit };
  if (part === "device.agent") return { kind: "agent", not: false };
  const compared = comparing.exec(part);
  if (compared === null) return undefined;
  const value = readJson(compared[4] ?? "");
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") return undefined;
  return {
    kind: compared[1] === "user" ? "user" : "posture",
    name: compared[2] ?? "",
    comparison: compared[3] as Comparison, // as the pattern says
    value,
  };
}

/** Reads a window that spans midnight. */
function readOvernight(text: string): Condition | undefined {
  const [first = "", second = "", ...others] = split(text, "||") ?? [];
  const [low, high] = [readBound(first), readBound(second)];
  if (low?.part !== "hours" || high?.part !== "hours" || low.zone !== high.zone || others.length > 0) return undefined;
  const { zone, edge: from } = low;
  const { edge: to } = high;
  return low.isFrom && !high.isFrom && to > 0 && from > to && from < minutesPerDay
    ? { kind: "hours", zone, from, to }
    : undefined;
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function readQuoted(text: string): string | undefined {
  const value = readJson(text);
  return typeof value === "string" ? value : undefined;
}

function readList<T>(text: string, is: (value: unknown) => value is T): readonly T[] | undefined {
  const value = readJson(text);
  return Array.isArray(value) && value.every(is) ? value : undefined;
}

/** Splits at an operator outside of brackets and strings. Returns undefined if brackets or quotes do not match. */
function split(text: string, operator: "&&" | "||"): readonly string[] | undefined {
  const parts: string[] = [];
  let [depth, start, quoted] = [0, 0, false];
  for (let at = 0; at < text.length; at++) {
    const character = text[at] ?? "";
    if (quoted) {
      if (character === "\\") at++;
      else if (character === '"') quoted = false;
    } else if (character === '"') quoted = true;
    else if ("([{".includes(character)) depth++;
    else if (")]}".includes(character)) depth--;
    // The builder never writes these.
    else if (character === "'" || character === "?" || text.startsWith("//", at)) return undefined;
    else if (depth === 0 && text.startsWith(operator, at)) {
      parts.push(text.slice(start, at).trim());
      start = at + operator.length;
      at++;
    }
    if (depth < 0) return undefined;
  }
  return depth === 0 && !quoted ? [...parts, text.slice(start).trim()] : undefined;
}

/** Whether the last character closes the first parenthesis. */
function isWhole(text: string): boolean {
  let [depth, quoted] = [0, false];
  for (let at = 0; at < text.length; at++) {
    const character = text[at] ?? "";
    if (quoted) {
      if (character === "\\") at++;
      else if (character === '"') quoted = false;
    } else if (character === '"') quoted = true;
    else if (character === "(") depth++;
    else if (character === ")" && --depth === 0) return at === text.length - 1;
  }
  return false;
}

function unwrapped(text: string): string {
  const trimmed = text.trim();
  return trimmed.startsWith("(") && isWhole(trimmed) ? unwrapped(trimmed.slice(1, -1)) : trimmed;
}
