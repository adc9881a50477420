/** A week, which shows when the time conditions of a rule are met. */
import { Text } from "@mantine/core";
import { t } from "../../messages/i18n.ts";
import { formatTimeOfDay } from "../../records/format-time-of-day.ts";
import { type BuiltRule, minutesPerDay, readRule } from "../../records/rule-conditions.ts";
import { openHoursOf } from "./open-hours.ts";

const days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] as const;

const shareOfDay = (minutes: number): string => `${(100 * minutes) / minutesPerDay}%`;

export function WeekStrip({ rule }: { readonly rule: BuiltRule }) {
  const open = openHoursOf(rule);
  if (open === undefined) return null;
  return (
    <figure className="week">
      <table>
        <caption>{t("admissionRules.week.title", { zone: open.zone })}</caption>
        <tbody>
          {open.days.map((ranges, index) => {
            const words = ranges.map(([from, until]) => `${formatTimeOfDay(from)}–${formatTimeOfDay(until)}`);
            const text = words.length === 0 ? t("admissionRules.week.closed") : words.join(", ");
            return (
              <tr key={days[index]}>
                <th scope="row">{t(`admissionRules.builder.weekdays.${days[index] ?? "monday"}`)}</th>
                <td>
                  <span className="week-bar" aria-hidden>
                    {ranges.map(([from, until]) => (
                      <span key={from} style={{ left: shareOfDay(from), width: shareOfDay(until - from) }} />
                    ))}
                  </span>
                </td>
                <td className="week-text">{text}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {open.isPartial && (
        <Text component="figcaption" size="sm" c="dimmed">
          {rule.match === "all" ? t("admissionRules.week.andOthers") : t("admissionRules.week.orOthers")}
        </Text>
      )}
    </figure>
  );
}

/** The week of a stored rule. Shows nothing for a rule that the builder does not support. */
export function WeekOf({ text }: { readonly text: string }) {
  const built = readRule(text);
  return built === undefined ? null : <WeekStrip rule={built} />;
}
