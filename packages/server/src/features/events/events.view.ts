import type { Event } from "@gatehouse/contract/records/event";
import type { EventRow } from "./events.queries.ts";

export function eventView(row: EventRow): Event {
  return {
    id: row.id,
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
  };
}
