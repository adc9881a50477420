import { list } from "../list.ts";
import { operation } from "../operation.ts";
import { Event } from "../records/event.ts";

export const listEvents = operation({
  id: "listEvents",
  method: "GET",
  path: "/tenants/events",
  tag: "Events",
  summary: "List the tenant's audit record",
  description:
    "Every change: who, what, before, after, request id, from where. Ordered from the oldest on; see `sort`.",
  access: "events:read",
  success: {
    status: 200,
    kind: "page",
    item: Event,
    list: list({
      sort: ["id", "createdAt"],
      filter: {
        id: { kind: "uuid" },
        createdAt: { kind: "timestamp" },
        operation: { kind: "text" },
        requestId: { kind: "text" },
        "actor.id": { kind: "uuid" },
        "target.id": { kind: "uuid" },
        "target.type": { kind: "text" },
      },
    }),
  },
});
