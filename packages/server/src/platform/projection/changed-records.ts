/** Above this number of changed records, a reload is no more expensive than an update. */
export const reloadAbove = 2_000;

const none: ReadonlySet<string> = new Set();

interface Changes {
  readonly generation: number;
  readonly changes: readonly { readonly type: string; readonly id: string }[];
}

/** The ids of the records that some outbox entries changed, by type of record. */
export class ChangedRecords {
  readonly #ids = new Map<string, Set<string>>();

  constructor(entries: readonly Changes[]) {
    for (const { changes } of entries) {
      for (const { type, id } of changes) {
        const ids = this.#ids.get(type);
        if (ids === undefined) this.#ids.set(type, new Set([id]));
        else ids.add(id);
      }
    }
  }

  get size(): number {
    let size = 0;
    for (const ids of this.#ids.values()) size += ids.size;
    return size;
  }

  idsOf(type: string): ReadonlySet<string> {
    return this.#ids.get(type) ?? none;
  }

  hasAnyOf(types: Iterable<string>): boolean {
    for (const type of types) if (this.#ids.has(type)) return true;
    return false;
  }

  *[Symbol.iterator](): IterableIterator<readonly [type: string, id: string]> {
    for (const [type, ids] of this.#ids) for (const id of ids) yield [type, id];
  }
}

/**
 * The records that changed after a generation of the tenant.
 *
 * @param entries in the order of their generations
 * @param most the number of changed records above which a reload is cheaper
 * @returns undefined if entries are missing, or if more changed
 */
export function changesSince(
  generation: number,
  entries: readonly Changes[],
  most = reloadAbove,
): ChangedRecords | undefined {
  if (!entries.every((entry, index) => entry.generation === generation + index + 1)) return undefined;
  const changed = new ChangedRecords(entries);
  return changed.size > most ? undefined : changed;
}
