import { events as messages } from "../../messages/en/events.ts";
import { t } from "../../messages/i18n.ts";

/** The type and the name of a target. A name that begins with the type, such as a generated one, stands alone. */
export function formatNamedTarget({ type, id, name = id }: { type: string; id: string; name?: string }): string {
  const words = formatTarget(type);
  return name.toLowerCase().startsWith(`${words.toLowerCase()} `) ? name : `${words} ${name}`;
}

/** Formats the type of a target, such as `access-test`, as words. */
export function formatTarget(type: string): string {
  if (type === "api-key") return t("events.actors.apiKey");
  if (isNamed(type)) return t(`events.targets.${type}`);
  return `${type.charAt(0).toUpperCase()}${type.slice(1).replaceAll("-", " ")}`;
}

function isNamed(type: string): type is keyof typeof messages.targets {
  return Object.hasOwn(messages.targets, type);
}

/** The name of a target. Undefined for the settings of the tenant, of which there is only one. */
export function nameOfTarget({ type, name }: { readonly type: string; readonly name?: string }): string | undefined {
  return type === "tenant-settings" ? undefined : name;
}
