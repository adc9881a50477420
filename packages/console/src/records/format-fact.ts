/** Names and values of posture and attributes, for people. */
import { capitalize } from "../messages/format.ts";
import { t } from "../messages/i18n.ts";

/** A name such as `diskEncrypted` as separate words. */
export function formatFactName(name: string): string {
  return name
    .replaceAll(/([a-z\d])([A-Z])/g, "$1 $2")
    .replaceAll("_", " ")
    .toLowerCase();
}

/** The name of a fact as a label, such as "Disk encrypted". */
export function formatFactLabel(name: string): string {
  return capitalize(formatFactName(name)).replace(/^Os\b/, "OS");
}

export function formatFactValue(value: unknown): string {
  if (typeof value === "boolean") return value ? t("common.yes") : t("common.no");
  return String(value);
}
