/**
 * Reads states of records in audit entries. Entries can be older than the current form of a record, so every reader
 * accepts a field of any kind.
 */

/** A record as an audit entry holds it, or as the API shows it now. */
export type State = Readonly<Record<string, unknown>>;

export function isState(value: unknown): value is State {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A text field; an omitted text is empty. */
export function textIn(state: State, field: string): string {
  const value = state[field];
  return typeof value === "string" ? value : "";
}

/** The id in a field that embeds a record; undefined if it embeds none. */
export function embeddedId(state: State, field: string): string | undefined {
  const value = state[field];
  return isState(value) && typeof value.id === "string" ? value.id : undefined;
}

/** The records that a field embeds. */
export function embeddedIn(state: State, field: string): readonly State[] {
  const value = state[field];
  return Array.isArray(value) ? value.filter(isState) : [];
}

/** The ids of the records that a field embeds, or its texts. */
export function itemsIn(state: State, field: string): readonly string[] {
  const value = state[field];
  if (!Array.isArray(value)) return [];
  return value.flatMap((item: unknown) => {
    if (typeof item === "string") return [item];
    return isState(item) && typeof item.id === "string" ? [item.id] : [];
  });
}
