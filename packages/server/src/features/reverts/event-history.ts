/** Reads the audit entries that a revert needs, within limits: the tenant is locked meanwhile. */
import type { Event } from "@gatehouse/contract/records/event";
import type { RevertScope } from "@gatehouse/contract/records/revert";
import { AppError } from "../../platform/app-error.ts";
import { eventView } from "../../platform/audit/entry.ts";
import type { CommandBatch } from "../../platform/command-batch.ts";
import { entriesAfter, entriesOfGeneration, type HistoryLimits, readEvent } from "../events/events.api.ts";
import { neededState } from "./plan/plan-revert.ts";
import { eventsToRevert } from "./plan/reverted-events.ts";

/** The most entries of a request that a plan considers: one reordering can move this many policies. */
const maxRequestEntries = 20_000;

/** The most later entries that a plan considers. */
const maxLaterEntries = 10_000;

/** The most bytes of recorded states, for the request and for the later entries. */
const maxBytes = 16 * 1_048_576;

export interface EventHistory {
  readonly event: Event;
  /** All entries of the event's request, in the order of their positions. */
  readonly request: readonly Event[];
  /** The events to revert, in the order in which they are reverted. */
  readonly events: readonly Event[];
  /** Later entries about the records that the revert may change, in the order of their positions. */
  readonly later: readonly Event[];
  /** False if there are more later entries. */
  readonly laterIsComplete: boolean;
}

/** @throws AppError not_found, revert_too_large, and with the code `tooLong` of the batch */
export async function readEventHistory(batch: CommandBatch, id: string, scope: RevertScope): Promise<EventHistory> {
  return batch.readInTime(async (tx) => {
    const row = await readEvent(tx, id);
    if (row === undefined) {
      const detail = "The audit record has no entry with this id, or the entry was pruned.";
      throw new AppError("not_found", { detail });
    }
    const event = eventView(row);
    const limits = (entries: number): HistoryLimits => ({
      entries,
      bytes: maxBytes,
      beforePage: () => batch.requireTime(),
    });
    const { events: request, isComplete } = await entriesOfGeneration(tx, event.generation, limits(maxRequestEntries));
    // A deletion without the entries of all references restores the others. Other reverts would be wrong.
    if (!isComplete && (scope === "request" || event.operation === "reorderPolicies")) {
      throw new AppError("revert_too_large", {
        detail: `The request of the event has more than ${maxRequestEntries} events, or more than ${maxBytes / 1_048_576} MiB of recorded states.`,
      });
    }
    const events = scope === "request" ? eventsToRevert(request) : [event];
    const records = new Set(events.flatMap((one) => neededState({ event: one, generation: request }).laterOn));
    // Events of the same request are reverted too, so that they are not undone unexpectedly.
    const position = scope === "request" ? (request.at(-1)?.position ?? event.position) : event.position;
    const later = await entriesAfter(tx, [...records], position, limits(maxLaterEntries));
    return { event, request, events, later: later.events, laterIsComplete: later.isComplete };
  });
}
