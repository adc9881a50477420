type State = Readonly<Record<string, unknown>>;

export interface ChangedField {
  readonly field: string;
  /** Undefined where there was, or is, none. Of two lists, what went. */
  readonly before: string | undefined;
  /** Of two lists, what came. */
  readonly after: string | undefined;
}

/** The fields in which two states of a record differ, in the order in which they stand there. */
export function changedFields(before: State = {}, after: State = {}): readonly ChangedField[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((field) => {
    const [old, now] = [before[field], after[field]];
    if (JSON.stringify(old) === JSON.stringify(now)) return [];
    const lists = Array.isArray(old) && Array.isArray(now) ? compareLists(old, now) : undefined;
    return [{ field, ...(lists ?? { before: formatAs(field, old), after: formatAs(field, now) }) }];
  });
}

/** What went and what came; undefined where the same stands in another order. */
function compareLists(old: readonly unknown[], now: readonly unknown[]) {
  const [oldItems, nowItems] = [old, now].map((items) => new Map(items.map((item) => [keyOf(item), formatItem(item)])));
  const went = [...(oldItems ?? [])].filter(([key]) => nowItems?.has(key) !== true).map(([, text]) => text);
  const came = [...(nowItems ?? [])].filter(([key]) => oldItems?.has(key) !== true).map(([, text]) => text);
  if (went.length + came.length === 0) return undefined;
  return {
    before: went.length === 0 ? undefined : `removed: ${went.join(", ")}`,
    after: came.length === 0 ? undefined : `added: ${came.join(", ")}`,
  };
}

function keyOf(item: unknown): string {
  return isRecord(item) && typeof item.id === "string" ? item.id : JSON.stringify(item);
}

function formatAs(field: string, value: unknown): string | undefined {
  // Of policies: what they do where they apply.
  if (field === "action" && typeof value === "boolean") return value ? "allow" : "deny";
  return say(value);
}

function say(value: unknown): string | undefined {
  if (value === undefined || typeof value === "string") return value;
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(formatItem).join(", ");
  return formatItem(value);
}

/** Records that are named are called by their names. */
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
        .map(([name, each]) => `${name} = ${String(each)}`)
        .join("\n");
    }
  }
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
