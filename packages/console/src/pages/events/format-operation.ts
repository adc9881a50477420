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

/** Formats an operation of an event: `updatePolicy` as "Updated policy". */
export function formatPastOperation(operation: string): string {
  const [verb = "", ...others] = formatOperation(operation).split(" ");
  const key = verb.toLowerCase();
  return [isPastVerb(key) ? t(`events.pastVerbs.${key}`) : verb, ...others].join(" ");
}

function isPastVerb(verb: string): verb is keyof typeof messages.pastVerbs {
  return Object.hasOwn(messages.pastVerbs, verb);
}

/** Converts the words of an operation, or a part of them, to its identifier: "Updated policy" to "updatepolicy". */
export function identifierOf(words: string): string {
  const [verb = "", ...others] = words.trim().toLowerCase().split(/\s+/);
  const [plain = verb] = Object.entries(messages.pastVerbs).find(([, past]) => past.toLowerCase() === verb) ?? [];
  return [plain, ...others].join("");
}

/** Operations that create a tenant with its first records, each of which has an event. */
const foundations: readonly string[] = ["createTenant", "setUpInstallation"];

/** Formats what happened to the target, such as "Updated policy" or "Updated policy (revert)". */
export function formatEvent(event: Pick<Event, "operation" | "target" | "reverts">): string {
  const words = formatChange(event);
  return event.reverts === undefined ? words : t("events.revertBy", { operation: words });
}

/** Whether the operation is shown in other words for a target of this type, because an event concerns one record. */
function isNamedFor(key: string): key is keyof typeof messages.ofTarget {
  return Object.hasOwn(messages.ofTarget, key);
}

/** Formats the operation, or the creation of a record with its tenant. */
function formatChange({ operation, target }: Pick<Event, "operation" | "target">): string {
  const key = `${operation}-${target.type}`;
  if (isNamedFor(key)) return t(`events.ofTarget.${key}`);
  if (!foundations.includes(operation) || target.type === "tenant") return formatPastOperation(operation);
  return formatPastOperation(`create ${target.type.replaceAll("-", " ")}`);
}

function asWritten(word: string): string {
  return word === "ips" ? "IPs" : word.toUpperCase();
}
