import { list } from "../list.ts";
import { operation } from "../operation.ts";
import { actorTypes, Event } from "../records/event.ts";

const filter = {
  id: { kind: "uuid" },
  position: { kind: "integer" },
  createdAt: { kind: "timestamp" },
  generation: { kind: "integer" },
  operation: { kind: "text" },
  requestId: { kind: "text" },
  sourceAddress: { kind: "text" },
  "actor.id": { kind: "uuid" },
  "actor.type": { kind: "enum", values: actorTypes },
  "actor.name": { kind: "text" },
  "target.id": { kind: "uuid" },
  "target.type": { kind: "text" },
  "target.name": { kind: "text" },
} as const;

export const listEvents = operation({
  id: "listEvents",
  method: "GET",
  path: "/tenants/events",
  tag: "Events",
  summary: "List the tenant's audit record",
  description:
    "Every change: who, what, before, after, request id, from where. Ordered from the oldest on; `sort=-position` begins with the newest.",
  access: "events:read",
  success: {
    status: 200,
    kind: "page",
    item: Event,
    list: list({ sort: ["id", "position", "createdAt"], filter }),
  },
});
