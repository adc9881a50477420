/** Filters that several lists share. */
import { t } from "../messages/i18n.ts";
import type { Filter } from "./list-definition.ts";

const minuteMs = 60_000;
const dayMs = 86_400_000;

const notSeenDays = [7, 30, 90] as const;

/**
 * Records that have not connected for some days, or never. Records that never connected count from their creation, so
 * new ones match only the last option.
 */
export const notSeenFilter: Filter<unknown> = {
  field: "notSeen",
  title: t("lists.notSeen.label"),
  kind: "chips",
  options: [
    ...notSeenDays.map((days) => ({ value: String(days), label: t("lists.notSeen.days", { days }) })),
    { value: "ever", label: t("lists.notSeen.ever"), query: ["filter[hasConnected]", "false"] },
  ],
  parameter: "filter[inactiveSince][lt]",
  // The start of the day, so that the query stays the same while the list is shown.
  toStored: (value) => {
    const days = notSeenDays.find((each) => String(each) === value) ?? 30;
    return new Date(Math.floor(Date.now() / dayMs - days) * dayMs).toISOString();
  },
};

export const unnamedFilter: Filter<unknown> = {
  field: "unnamed",
  title: t("lists.presets.unnamed"),
  kind: "switch",
  parameter: "filter[isNamedByPolicy]",
  toStored: () => "false",
};

const periods = { hour: dayMs / 24, day: dayMs, week: 7 * dayMs, month: 30 * dayMs } as const;
type Period = keyof typeof periods;

/** Records from a period that ends now. */
export const periodFilter: Filter<unknown> = {
  field: "period",
  title: t("lists.periods.label"),
  options: (["hour", "day", "week", "month"] as const).map((value) => ({ value, label: t(`lists.periods.${value}`) })),
  parameter: "filter[createdAt][gte]",
  // The start of a minute, so that the query stays the same while the page renders again.
  toStored: (period) => {
    const length = Object.hasOwn(periods, period) ? periods[period as Period] : periods.month;
    return new Date(Math.floor((Date.now() - length) / minuteMs) * minuteMs).toISOString();
  },
};
