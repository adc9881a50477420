import { t } from "../../messages/i18n.ts";
/** Formats the type of a target, such as `access-test`, as words. */
export function formatTarget(type: string): string {
  if (type === "api-key") return t("events.actors.apiKey");
  return `${type.charAt(0).toUpperCase()}${type.slice(1).replaceAll("-", " ")}`;
}
