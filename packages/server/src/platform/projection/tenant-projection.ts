import type { OutboxEntry } from "../outbox/outbox.queries.ts";
import { ChangedRecords, changesSince } from "./changed-records.ts";

export interface ProjectionSteps<Source extends { readonly generation: number }, Result> {
  /** Whether to reload although every change is known. */
  readonly mustReload: boolean;
  /**
   * Reads the tenant's current records. It is called after the changes were taken, so that the records reflect every
   * change that is applied.
   */
  readonly read: () => Promise<Source>;
  /** Applies changes to the derived data. The source may reflect later changes, too. */
  readonly update: (source: Source, changed: ChangedRecords) => Promise<Result>;
  /**
   * Loads the derived data, which then reflects at least the generation of the source.
   *
   * @param changed the known changes; there may be others
   */
  readonly reload: (source: Source, changed: ChangedRecords) => Promise<Result>;
}

/**
 * Keeps data that is derived from a tenant's records up to date with the outbox. It collects entries until the next
 * `advance`, and decides whether they can be applied one after the other or whether everything has to be loaded again.
 */
export class TenantProjection {
  #generation = 0;
  #pending: OutboxEntry[] = [];
  /** The first `advance` always reloads. */
  #isLost = true;

  /** The generation that the derived data reflects. */
  get generation(): number {
    return this.#generation;
  }

  /** Takes an entry of the outbox. Entries arrive in order. */
  changed(entry: OutboxEntry): void {
    if (entry.generation > this.#generation) this.#pending.push(entry);
  }

  /** An unknown number of entries was missed: the next `advance` reloads. */
  missed(): void {
    this.#isLost = true;
  }

  /**
   * Applies the collected changes. Calls must not overlap.
   *
   * @throws the error of a step; the next call applies the same changes
   */
  async advance<Source extends { readonly generation: number }, Result>({
    mustReload,
    read,
    update,
    reload,
  }: ProjectionSteps<Source, Result>): Promise<Result> {
    const pending = this.#pending.filter(({ generation }) => generation > this.#generation);
    const wasLost = this.#isLost;
    this.#pending = [];
    this.#isLost = false;
    try {
      const source = await read();
      const changed = wasLost || mustReload ? undefined : changesSince(this.#generation, pending);
      if (changed !== undefined) {
        const result = await update(source, changed);
        this.#generation = pending.at(-1)?.generation ?? this.#generation;
        return result;
      }
      const result = await reload(source, new ChangedRecords(pending));
      // A tenant that was deleted meanwhile has no generation.
      if (Number.isFinite(source.generation)) this.#generation = source.generation;
      return result;
    } catch (error) {
      this.#pending = [...pending, ...this.#pending];
      this.#isLost ||= wasLost;
      throw error;
    }
  }
}
