import { events as messages } from "../../messages/en/events.ts";
import { capitalize } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import type { Event } from "./event.ts";

/** Formats an identifier as words: `updateUserProfile` as "Update user profile", `createApiKey` as "Create API key". */
export function formatOperation(operation: string): string {
  if (isNamed(operation)) return t(`events.operations.${operation}`);
  const words = operation
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .replaceAll(/\b(api|url|ips?)\b/g, asWritten);
  return capitalize(words);
}

function isNamed(operation: string): operation is keyof typeof messages.operations {
  return Object.hasOwn(messages.operations, operation);
}

/** Operations that create a tenant with its first records, each of which has an event. */
const foundations: readonly string[] = ["createTenant", "setUpInstallation"];

/** Formats what happened to the target, such as "Update policy" or "Update policy (revert)". */
export function formatEvent(event: Pick<Event, "operation" | "target" | "reverts">): string {
  const words = formatChange(event);
  return event.reverts === undefined ? words : t("events.revertBy", { operation: words });
}

/** Formats the operation, or the creation of a record with its tenant. */
function formatChange({ operation, target }: Pick<Event, "operation" | "target">): string {
  if (!foundations.includes(operation) || target.type === "tenant") return formatOperation(operation);
  return formatOperation(`create ${target.type.replaceAll("-", " ")}`);
}

function asWritten(word: string): string {
  return word === "ips" ? "IPs" : word.toUpperCase();
}
