/** An entry of the audit record: how it is stored, and how the API shows it. The second form is what seals cover. */
import type { ActorType, Event } from "@gatehouse/contract/records/event";
import type { Change, Origin } from "../change.ts";

export interface EntryRow {
  readonly id: string;
  readonly position: number;
  readonly created_at: string;
  readonly generation: number;
  readonly actor_type: ActorType;
  readonly actor_id: string | null;
  readonly actor_name: string;
  readonly operation: string;
  readonly target_type: string;
  readonly target_id: string;
  readonly target_name: string | null;
  readonly before: Record<string, unknown> | null;
  readonly after: Record<string, unknown> | null;
  readonly request_id: string;
  readonly source_address: string | null;
  readonly reason: string | null;
  readonly reverts: string | null;
}

const entryColumnNames = [
  "id",
  "position",
  "created_at",
  "generation",
  "actor_type",
  "actor_id",
  "actor_name",
  "operation",
  "target_type",
  "target_id",
  "target_name",
  "before",
  "after",
  "request_id",
  "source_address",
  "reason",
  "reverts",
];

/** The columns of an EntryRow, for a row named `item`. */
export const entryColumns = entryColumnNames.map((column) => `item.${column}`).join(", ");

export function eventView(row: EntryRow): Event {
  return {
    id: row.id,
    position: row.position,
    createdAt: row.created_at,
    generation: row.generation,
    actor: { type: row.actor_type, ...(row.actor_id === null ? {} : { id: row.actor_id }), name: row.actor_name },
    operation: row.operation,
    target: {
      type: row.target_type,
      id: row.target_id,
      ...(row.target_name === null ? {} : { name: row.target_name }),
    },
    ...(row.before === null ? {} : { before: row.before }),
    ...(row.after === null ? {} : { after: row.after }),
    requestId: row.request_id,
    ...(row.source_address === null ? {} : { sourceAddress: row.source_address }),
    ...(row.reason === null ? {} : { reason: row.reason }),
    ...(row.reverts === null ? {} : { reverts: row.reverts }),
  };
}

/**
 * An entry without its place in the chain. The database assigns the place when it appends the entry, and the seal
 * covers it.
 */
export interface Entry extends Omit<Event, "position" | "generation" | "before" | "after"> {
  readonly before?: object;
  readonly after?: object;
}

/** @returns the entry in the form that `eventView` returns after it is stored */
export function newEntry(id: string, origin: Origin, change: Change): Entry {
  const { actor, sourceAddress, reason, reverts } = origin;
  return {
    id,
    createdAt: origin.at.toISOString(),
    actor: { type: actor.type, ...(actor.id === undefined ? {} : { id: actor.id }), name: actor.name },
    operation: origin.operation,
    target: {
      type: change.type,
      id: change.id,
      ...(change.name === undefined ? {} : { name: change.name }),
    },
    ...(change.before === undefined ? {} : { before: change.before }),
    ...(change.after === undefined ? {} : { after: change.after }),
    requestId: origin.requestId,
    ...(sourceAddress === undefined ? {} : { sourceAddress }),
    // Without a value these fields are absent, not null, so that entries from before they existed keep their hashes.
    ...(reason === undefined ? {} : { reason }),
    ...(reverts === undefined ? {} : { reverts }),
  };
}
