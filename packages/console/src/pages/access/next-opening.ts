/** When the conditions on the time of a rule are met next. */

const stepMs = 15 * 60_000;
const daysAhead = 8;
const days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

interface LocalTime {
  readonly day: number;
  readonly hour: number;
}

type TimeCondition = { readonly zone: string; readonly isMet: (at: LocalTime) => boolean };

const bound = /^now\.get(Hours|DayOfWeek)\("([^"\\]*)"\) (>=|<=|<|>|==|!=) (\d{1,2})$/;
const listed = /^now\.getDayOfWeek\("([^"\\]*)"\) in \[([\d, ]*)\]$/;

const comparisons: Readonly<Record<string, (left: number, right: number) => boolean>> = {
  ">=": (left, right) => left >= right,
  "<=": (left, right) => left <= right,
  "<": (left, right) => left < right,
  ">": (left, right) => left > right,
  "==": (left, right) => left === right,
  "!=": (left, right) => left !== right,
};

function readTimeCondition(text: string): TimeCondition | undefined {
  const [, part, zone, sign = "", number] = bound.exec(text.trim()) ?? [];
  const compare = comparisons[sign];
  if (zone !== undefined && compare !== undefined) {
    return { zone, isMet: ({ day, hour }) => compare(part === "Hours" ? hour : day, Number(number)) };
  }
  const [, ofList, list = ""] = listed.exec(text.trim()) ?? [];
  if (ofList === undefined) return undefined;
  const chosen = list.split(",").map(Number);
  return { zone: ofList, isMet: ({ day }) => chosen.includes(day) };
}

interface RuleCondition {
  readonly text: string;
  readonly operator?: "all" | "any" | "not";
}

export interface Opening {
  readonly at: Date;
  /** The time zone of the rule. */
  readonly zone: string;
}

/** The only time zone of the conditions on the time. Undefined if there is none, or more than one. */
export function zoneOf(conditions: readonly RuleCondition[]): string | undefined {
  const found = conditions.flatMap(({ text }) =>
    [...text.matchAll(/\bnow\.get\w+\("([^"\\]+)"\)/g)].map(([, zone]) => zone),
  );
  const [zone, ...others] = new Set(found);
  return others.length === 0 && zone !== undefined && localTime(zone) !== undefined ? zone : undefined;
}

/**
 * Returns the next time, to the quarter of an hour, at which all conditions on the time are met. Undefined if the rule
 * combines conditions in another way, reads the time in another form, or is not met within eight days.
 */
export function nextOpening(conditions: readonly RuleCondition[], from: Date): Opening | undefined {
  if (conditions.some(({ operator }) => operator === "any" || operator === "not")) return undefined;
  const onTime = conditions.filter(({ text, operator }) => operator === undefined && /\bnow\b/.test(text));
  const read = onTime.map(({ text }) => readTimeCondition(text));
  const times = read.filter((condition) => condition !== undefined);
  const [first] = times;
  if (first === undefined || times.length < read.length || times.some(({ zone }) => zone !== first.zone))
    return undefined;
  const local = localTime(first.zone);
  if (local === undefined) return undefined;
  const start = Math.ceil(from.getTime() / stepMs) * stepMs;
  for (let at = start; at < start + daysAhead * 24 * 4 * stepMs; at += stepMs) {
    const now = local(at);
    if (times.every(({ isMet }) => isMet(now))) return { at: new Date(at), zone: first.zone };
  }
  return undefined;
}

/** Returns undefined if the browser does not know the time zone. */
function localTime(zone: string): ((at: number) => LocalTime) | undefined {
  try {
    // Not for display: `days` has the English names.
    const parts = new Intl.DateTimeFormat("en", {
      timeZone: zone,
      weekday: "short",
      hour: "2-digit",
      hourCycle: "h23",
    });
    return (at) => {
      const found = new Map(parts.formatToParts(at).map(({ type, value }) => [type, value]));
      return { day: days.indexOf(found.get("weekday") ?? ""), hour: Number(found.get("hour")) };
    };
  } catch {
    return undefined;
  }
}
