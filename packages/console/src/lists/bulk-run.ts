/** Sends the changes of a bulk action in change sets. Each set is made as a whole or not at all. */
import { GatehouseError } from "@gatehouse/client/errors";
import { type PlannedChange, sendChanges } from "../records/planned-change.ts";
import type { SentRequest } from "../records/saved-notice.tsx";

/** The most changes of one change set, as the API limits them. */
export const changesInSet = 100;

/** A change of one record, with the name of the record. */
export interface BulkChange {
  /** The id of the record. */
  readonly id: string;
  readonly name: string;
  readonly change: PlannedChange;
}

export interface BulkProgress {
  /** Number of changes that were made. */
  readonly made: number;
  /** The requests that made them, in order. */
  readonly sent: readonly SentRequest[];
  /** Changes that were not made, in order. */
  readonly left: readonly BulkChange[];
  /** The error that stopped the action. */
  readonly error?: unknown;
  /** The record whose change was refused; undefined if the error concerns no single record. */
  readonly refused?: string;
}

/**
 * Sends the changes set by set, and stops at the first set that is refused.
 *
 * @param report called after each set
 */
export async function runBulk(
  changes: readonly BulkChange[],
  overrideReason: string | undefined,
  report: (progress: BulkProgress) => void,
): Promise<BulkProgress> {
  let made = 0;
  const sent: SentRequest[] = [];
  while (made < changes.length) {
    const set = changes.slice(made, made + changesInSet);
    const planned = set.map(({ change }) => change);
    try {
      sent.push({ changes: planned, answer: await sendChanges(planned, { overrideReason }) });
    } catch (error) {
      const refused = refusedIn(set, error);
      return { made, sent, left: changes.slice(made), error, ...(refused === undefined ? {} : { refused }) };
    }
    made += set.length;
    report({ made, sent, left: changes.slice(made) });
  }
  return { made, sent, left: [] };
}

/** The record that the error of a change set points to. */
function refusedIn(set: readonly BulkChange[], error: unknown): string | undefined {
  if (!(error instanceof GatehouseError)) return undefined;
  if (set.length === 1) return set[0]?.name;
  for (const { pointer } of error.errors) {
    const index = /^\/changes\/(\d+)(?:\/|$)/.exec(pointer)?.[1];
    if (index !== undefined) return set[Number(index)]?.name;
  }
  return undefined;
}
