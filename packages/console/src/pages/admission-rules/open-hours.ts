/** The hours of a week at which the time conditions of a rule are met. */
import type { BuiltRule, Condition } from "./rule-conditions.ts";

interface OpenHours {
  readonly zone: string;
  /** The 24 hours of each day from Monday to Sunday. */
  readonly days: readonly (readonly boolean[])[];
  /** Whether other conditions have to be met too, or can be met instead. */
  readonly isPartial: boolean;
}

type TimeCondition = Extract<Condition, { readonly kind: "days" | "hours" }>;

/** Monday first. Day 0 is Sunday. */
const weekdays = [1, 2, 3, 4, 5, 6, 0] as const;
const hours = Array.from({ length: 24 }, (_, hour) => hour);

/** @returns undefined for a rule without time conditions, and for one with several time zones */
export function openHoursOf({ match, conditions }: BuiltRule): OpenHours | undefined {
  const timed = conditions.filter(
    (condition): condition is TimeCondition => condition.kind === "days" || condition.kind === "hours",
  );
  const [first] = timed;
  if (first === undefined || timed.some(({ zone }) => zone !== first.zone)) return undefined;
  const isMet = (day: number, hour: number) => {
    const met = (condition: TimeCondition) => isMetAt(condition, day, hour);
    return match === "all" ? timed.every(met) : timed.some(met);
  };
  return {
    zone: first.zone,
    days: weekdays.map((day) => hours.map((hour) => isMet(day, hour))),
    isPartial: timed.length < conditions.length,
  };
}

function isMetAt(condition: TimeCondition, day: number, hour: number): boolean {
  if (condition.kind === "days") return condition.days.includes(day);
  const { from, to } = condition;
  return from <= to ? hour >= from && hour < to : hour >= from || hour < to;
}

/** Open hours of one day as ranges, such as `[[8, 18]]`. */
export function rangesOf(day: readonly boolean[]): readonly (readonly [from: number, until: number])[] {
  const ranges: [number, number][] = [];
  for (const [hour, isOpen] of day.entries()) {
    const last = ranges.at(-1);
    if (!isOpen) continue;
    if (last?.[1] === hour) last[1] = hour + 1;
    else ranges.push([hour, hour + 1]);
  }
  return ranges;
}
