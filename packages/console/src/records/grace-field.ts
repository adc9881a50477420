import { t } from "../messages/i18n.ts";
import type { Field, Values } from "./form-fields.tsx";

/** How long a replaced secret stays valid beside its replacement. */
export const graceFields: readonly Field[] = [
  {
    kind: "choice",
    name: "graceSeconds",
    label: t("records.grace.label"),
    description: t("records.grace.help"),
    options: [
      { value: "0", label: t("records.grace.zero") },
      { value: "3600", label: t("records.grace.oneHour") },
      { value: "86400", label: t("records.grace.oneDay") },
      { value: "604800", label: t("records.grace.oneWeek") },
      { value: "2592000", label: t("records.grace.days") },
    ],
  },
];

export const usualGrace: Values = { graceSeconds: "86400" };

export function graceBody({ graceSeconds }: Values): { readonly graceSeconds: number } {
  return { graceSeconds: Number(graceSeconds) };
}
