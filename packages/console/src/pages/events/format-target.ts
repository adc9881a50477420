import { t } from "../../messages/i18n.ts";
/** Formats the type of a target, such as `access-test`, as words. */
export function formatTarget(type: string): string {
  if (type === "api-key") return t("events.actors.apiKey");
  return `${type.charAt(0).toUpperCase()}${type.slice(1).replaceAll("-", " ")}`;
}

/** The name of a target. Undefined for the settings of the tenant, of which there is only one. */
export function nameOfTarget({ type, name }: { readonly type: string; readonly name?: string }): string | undefined {
  return type === "tenant-settings" ? undefined : name;
}
