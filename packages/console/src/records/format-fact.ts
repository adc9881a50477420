/** Names and values of posture and attributes, for people. */
import { capitalize, formatDuration } from "../messages/format.ts";
import { t } from "../messages/i18n.ts";

/** A name such as `diskEncrypted` as separate words. */
export function formatFactName(name: string): string {
  return name
    .replaceAll(/([a-z\d])([A-Z])/g, "$1 $2")
    .replaceAll("_", " ")
    .toLowerCase();
}

/** The name of a fact inside a sentence, such as "disk encrypted" or "OS version". */
export function formatFactInText(name: string): string {
  return formatFactName(name).replace(/\bos\b/, "OS");
}

/** The name of a fact as a label, such as "Disk encrypted". */
export function formatFactLabel(name: string): string {
  return capitalize(formatFactInText(name));
}

/** A fact as a label and a value. A number of seconds, such as `screenLockSeconds`, is a duration. */
export function formatFact(name: string, value: unknown): { readonly label: string; readonly value: string } {
  const [, what] = /^(.+)(?:Seconds|_seconds)$/.exec(name) ?? [];
  return what !== undefined && typeof value === "number" && Number.isFinite(value)
    ? { label: formatFactLabel(what), value: formatDuration(value) }
    : { label: formatFactLabel(name), value: formatFactValue(value) };
}

export function formatFactValue(value: unknown): string {
  if (typeof value === "boolean") return value ? t("common.yes") : t("common.no");
  return String(value);
}
