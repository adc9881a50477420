import { events as messages } from "../../messages/en/events.ts";
import { uncapitalize } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";

interface Target {
  readonly type: string;
  readonly id: string;
  readonly name?: string;
}

/** The type and the quoted name of a target, at the beginning of a sentence or inside one. */
export function formatNamedTarget({ type, id, name = id }: Target, isInside = false): string {
  const words = isInside ? uncapitalize(formatTarget(type)) : formatTarget(type);
  if (nameOfTarget({ type, name }) === undefined) return words;
  const quoted = t("common.quoted", { text: name });
  // A name that begins with the type, such as a generated one, stands alone.
  if (name.toLowerCase().startsWith(`${words.toLowerCase()} `)) return quoted;
  return `${words} ${quoted}`;
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
