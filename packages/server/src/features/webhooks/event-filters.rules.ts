/** The filters that select the events of a webhook. */
import {
  type ChangeKind,
  changeKinds,
  type EventType,
  type TargetType,
  targetTypes,
} from "@gatehouse/contract/event-types";
import { isWrite } from "@gatehouse/contract/operation";
import { operations } from "@gatehouse/contract/operations/all";
import type { ProblemField } from "@gatehouse/contract/problem";
import { nearestName } from "../../platform/nearest-name.ts";

/** The fields of an event that filters read. */
export interface FilteredEvent {
  readonly operation: string;
  readonly targetType: string;
  readonly change: ChangeKind;
}

/** All valid filters. A filter is one of these strings, so nothing has to be parsed. */
const validFilters: ReadonlySet<string> = new Set([
  ...targetTypes.flatMap((type) => [`${type}.*`, ...changeKinds.map((kind) => `${type}.${kind}`)]),
  ...operations.filter(isWrite).map(({ id }) => id),
]);

/** Entries of `events` that match no event, as fields of the body. */
export function unknownFilters(filters: readonly string[]): readonly ProblemField[] {
  return filters.flatMap((filter, index) => {
    if (validFilters.has(filter)) return [];
    const nearest = nearestName(filter, [...validFilters]);
    const advice = nearest === undefined ? "" : `; did you mean ${nearest}?`;
    return [{ pointer: `/events/${index}`, message: `${JSON.stringify(filter)} is not an event type${advice}` }];
  });
}

/** @param filters empty for all events */
export function isWanted(filters: readonly string[], event: FilteredEvent): boolean {
  if (filters.length === 0) return true;
  const { operation, targetType, change } = event;
  return [`${targetType}.${change}`, `${targetType}.*`, operation].some((name) => filters.includes(name));
}

/** The `type` of the message for an event. */
export function eventType(targetType: TargetType, change: ChangeKind): EventType {
  return `${targetType}.${change}`;
}
