/** The times of a week at which the time conditions of a rule are met. */
import { type BuiltRule, type Condition, minutesPerDay } from "../../records/rule-conditions.ts";

/** Minutes since midnight: `from` is included, `until` is not. */
type Range = readonly [from: number, until: number];

interface OpenHours {
  readonly zone: string;
  /** The open ranges of each day from Monday to Sunday. */
  readonly days: readonly (readonly Range[])[];
  /** Whether other conditions have to be met too, or can be met instead. */
  readonly isPartial: boolean;
}

type TimeCondition = Extract<Condition, { readonly kind: "days" | "hours" }>;

/** Monday first. Day 0 is Sunday. */
const weekdays = [1, 2, 3, 4, 5, 6, 0] as const;

/** @returns undefined for a rule without time conditions, and for one with several time zones */
export function openHoursOf({ match, conditions }: BuiltRule): OpenHours | undefined {
  const timed = conditions.filter(
    (condition): condition is TimeCondition => condition.kind === "days" || condition.kind === "hours",
  );
  const [first] = timed;
  if (first === undefined || timed.some(({ zone }) => zone !== first.zone)) return undefined;
  const isMet = (day: number, minute: number) => {
    const met = (condition: TimeCondition) => isMetAt(condition, day, minute);
    return match === "all" ? timed.every(met) : timed.some(met);
  };
  const edges = [
    0,
    ...timed.flatMap((condition) => (condition.kind === "hours" ? [condition.from, condition.to] : [])),
  ];
  const starts = [...new Set(edges)].filter((minute) => minute < minutesPerDay).sort((a, b) => a - b);
  return {
    zone: first.zone,
    days: weekdays.map((day) => openRanges(starts, (minute) => isMet(day, minute))),
    isPartial: timed.length < conditions.length,
  };
}

function isMetAt(condition: TimeCondition, day: number, minute: number): boolean {
  if (condition.kind === "days") return condition.days.includes(day);
  const { from, to } = condition;
  return from <= to ? minute >= from && minute < to : minute >= from || minute < to;
}

/** @param starts the minutes at which the result can change, in order */
function openRanges(starts: readonly number[], isOpen: (minute: number) => boolean): readonly Range[] {
  const ranges: [number, number][] = [];
  for (const [index, from] of starts.entries()) {
    if (!isOpen(from)) continue;
    const until = starts[index + 1] ?? minutesPerDay;
    const last = ranges.at(-1);
    if (last?.[1] === from) last[1] = until;
    else ranges.push([from, until]);
  }
  return ranges;
}
