/** Selects the events of a request to revert, and the entries that belong to each of them. Pure. */
import type { Event } from "@gatehouse/contract/records/event";
import { irrevertibleOperations } from "@gatehouse/contract/records/irrevertible";
import { isState, textIn } from "./recorded-state.ts";
import { deletedReference } from "./update-plan.ts";

/**
 * The events of a request in the order in which they are reverted: the last one first. An event that another one
 * caused is reverted with it, and so are the moves of one reordering. The first event of an applied document stands for
 * all, because none is reverted.
 *
 * @param request all entries of the request, in the order of their positions
 */
export function eventsToRevert(request: readonly Event[]): readonly Event[] {
  const [first] = request;
  if (first !== undefined && irrevertibleOperations[first.operation] === "configuration") return [first];
  const created = createdRecords(request);
  const deleted = new Set(request.filter(({ after }) => after === undefined).map(({ target }) => target.id));
  return request
    .filter((event, index) => {
      const { operation, before, after, target } = event;
      // The request left no trace of such a record.
      if (created.has(target.id) && deleted.has(target.id)) return false;
      const isConsequence = operation.startsWith("delete") && before !== undefined && after !== undefined;
      if (isConsequence) return false;
      return !(operation === "reorderPolicies" && isSameReordering(event, request[index - 1]));
    })
    .toReversed();
}

/** The ids of the records that a request created. */
export function createdRecords(request: readonly Event[]): ReadonlySet<string> {
  return new Set(request.filter(({ before }) => before === undefined).map(({ target }) => target.id));
}

/** Whether two successive events moved policies of the same type. */
function isSameReordering(event: Event, previous: Event | undefined): boolean {
  return previous?.operation === event.operation && typeOf(previous) === typeOf(event);
}

function typeOf({ before }: Event): string {
  return textIn(before ?? {}, "type");
}

/** Finds the entries that the plan of one event of a request needs. */
export class RelatedEntries {
  readonly #request: readonly Event[];
  readonly #byDeleted = new Map<string, Event[]>();

  constructor(request: readonly Event[]) {
    this.#request = request;
    for (const entry of request) {
      const id = deletedReference(entry) ?? formerOwner(entry);
      if (id === undefined) continue;
      const entries = this.#byDeleted.get(id) ?? [];
      entries.push(entry);
      this.#byDeleted.set(id, entries);
    }
  }

  of(event: Event): readonly Event[] {
    if (event.operation === "reorderPolicies") return this.#movesFrom(event);
    if (event.after === undefined) return [...(this.#byDeleted.get(event.target.id) ?? []), event];
    // The SAML default group can move between the groups of a request.
    return event.target.type === "group" ? this.#request.filter(({ target }) => target.type === "group") : [event];
  }

  /** The successive moves of the same type, from the first one on. */
  #movesFrom(first: Event): readonly Event[] {
    const start = this.#request.indexOf(first);
    const moves = [first];
    for (const next of this.#request.slice(start + 1)) {
      if (!isSameReordering(next, moves.at(-1))) break;
      moves.push(next);
    }
    return moves;
  }
}

/** The deleted user whose device an entry deactivated. */
function formerOwner({ operation, target, before }: Event): string | undefined {
  const user = before?.user;
  return operation === "deleteUser" && target.type === "device" && isState(user) ? textIn(user, "id") : undefined;
}
