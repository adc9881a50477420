/** A week in hours, which shows when the time conditions of a rule are met. */
import { Text } from "@mantine/core";
import { t } from "../../messages/i18n.ts";
import { openHoursOf, rangesOf } from "./open-hours.ts";
import type { BuiltRule } from "./rule-conditions.ts";

const days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] as const;

function formatHour(hour: number): string {
  return `${String(hour).padStart(2, "0")}:00`;
}

export function WeekStrip({ rule }: { readonly rule: BuiltRule }) {
  const open = openHoursOf(rule);
  if (open === undefined) return null;
  return (
    <figure className="week">
      <table>
        <caption>{t("admissionRules.week.title", { zone: open.zone })}</caption>
        <tbody>
          {open.days.map((hours, index) => {
            const ranges = rangesOf(hours).map(([from, until]) => `${formatHour(from)}–${formatHour(until)}`);
            const text = ranges.length === 0 ? t("admissionRules.week.closed") : ranges.join(", ");
            return (
              <tr key={days[index]}>
                <th scope="row">{t(`admissionRules.builder.weekdays.${days[index] ?? "monday"}`)}</th>
                <td>
                  <span className="week-bar" aria-hidden>
                    {hours.map((isOpen, hour) => (
                      // biome-ignore lint/suspicious/noArrayIndexKey: the hours of a day
                      <span key={hour} data-open={isOpen} />
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
