type State = Readonly<Record<string, unknown>>;

export interface ChangedField {
  readonly field: string;
  /** Undefined where there was, or is, none. */
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** The fields in which two states of a record differ, in the order in which they stand there. */
export function changedFields(before: State = {}, after: State = {}): readonly ChangedField[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((field) => {
    const [old, now] = [say(before[field]), say(after[field])];
    return old === now ? [] : [{ field, before: old, after: now }];
  });
}

function say(value: unknown): string | undefined {
  return value === undefined || typeof value === "string" ? value : JSON.stringify(value);
}
