import { formatDuration, formatTime } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { formatStatus } from "../../records/status.tsx";

type State = Readonly<Record<string, unknown>>;

export interface ChangedField {
  readonly field: string;
  /** The text of the value, or those of the items of a list. Undefined if the field is absent or null. */
  readonly before: readonly string[] | undefined;
  readonly after: readonly string[] | undefined;
  /** Items that both lists have. Only then are `before` and `after` the removed and the added items of a list. */
  readonly unchanged?: readonly string[];
}

/** The fields in which two states of a record differ, in the order of the record. */
export function changedFields(before: State = {}, after: State = {}): readonly ChangedField[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((field) => {
    const [old, now] = [before[field], after[field]];
    if (JSON.stringify(old) === JSON.stringify(now)) return [];
    const lists = Array.isArray(old) && Array.isArray(now) ? compareLists(old, now) : undefined;
    const change = lists ?? { before: textsOf(field, old), after: textsOf(field, now) };
    // An absent field and null mean the same.
    return change.before === undefined && change.after === undefined ? [] : [{ field, ...change }];
  });
}

/** The removed, the added and the other items; undefined if only the order differs. */
function compareLists(old: readonly unknown[], now: readonly unknown[]) {
  const [oldItems, nowItems] = [old, now].map((items) => new Map(items.map((item) => [keyOf(item), formatItem(item)])));
  const unchanged = [...(oldItems ?? [])].filter(([key]) => nowItems?.has(key) === true).map(([, text]) => text);
  const removed = [...(oldItems ?? [])].filter(([key]) => nowItems?.has(key) !== true).map(([, text]) => text);
  const added = [...(nowItems ?? [])].filter(([key]) => oldItems?.has(key) !== true).map(([, text]) => text);
  if (removed.length + added.length === 0) return undefined;
  return {
    before: removed,
    after: added,
    unchanged,
  };
}

function keyOf(item: unknown): string {
  return isRecord(item) && typeof item.id === "string" ? item.id : JSON.stringify(item);
}

function textsOf(field: string, value: unknown): readonly string[] | undefined {
  if (value === undefined || value === null) return undefined;
  return Array.isArray(value) ? value.map(formatItem) : [formatAs(field, value)];
}

function formatAs(field: string, value: unknown): string {
  // The action of a policy is a boolean.
  if (field === "action" && typeof value === "boolean") {
    return value ? t("events.changes.allow") : t("events.changes.deny");
  }
  if (field === "status" && typeof value === "string") return formatStatus(value);
  if (durations.has(field) && typeof value === "number") return formatDuration(value);
  return formatItem(value);
}

/** Fields that hold seconds. */
const durations = new Set(["configurationLifetime", "deviceSessionLifetime", "sessionIdleTime", "sessionLifetime"]);

/** A record with a name is shown by its name. */
function formatItem(value: unknown): string {
  if (isRecord(value)) {
    for (const name of [value.name, value.email]) if (typeof name === "string") return name;
    if (typeof value.address === "string") {
      return `${value.address} (${Array.isArray(value.protocols) ? value.protocols.map(formatItem).join(", ") : ""})`;
    }
    if (typeof value.protocol === "string") {
      return typeof value.port === "string" ? `${value.protocol} ${value.port}` : value.protocol;
    }
    if (Object.values(value).every((each) => typeof each !== "object")) {
      return Object.entries(value)
        .map(([name, each]) => `${name} = ${typeof each === "string" ? formatText(each) : String(each)}`)
        .join("\n");
    }
  }
  if (typeof value === "boolean") return (value ? t("common.yes") : t("common.no")).toLowerCase();
  return typeof value === "string" ? formatText(value) : JSON.stringify(value);
}

/** Times of the API, such as "2026-11-23T09:00:00.000Z", in the locale and the time zone of the viewer. */
function formatText(text: string): string {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text) ? formatTime(text) : text;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
