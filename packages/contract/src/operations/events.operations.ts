import { list } from "../list.ts";
import { operation } from "../operation.ts";
import { EventEffect } from "../records/effect.ts";
import { actorTypes, Event, SigningKey } from "../records/event.ts";

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

export const exportEvents = operation({
  id: "exportEvents",
  method: "GET",
  path: "/tenants/events/export",
  tag: "Events",
  summary: "Export the tenant's audit record",
  description:
    "NDJSON holds everything that it takes to verify it elsewhere, with `gatehouse audit verify --file`: entries, the seals that chain them, signed checkpoints, and a signature over all of it. With filters it has the entries that match, and every seal between the first and the last of them. CSV is for spreadsheets: entries alone, and an apostrophe before what a spreadsheet would take for a formula.",
  access: "events:read",
  success: {
    status: 200,
    kind: "stream",
    description: "The record, streamed.",
    mediaTypes: ["application/x-ndjson", "text/csv"],
    query: { format: { description: "The form of the export.", values: ["ndjson", "csv"], default: "ndjson" } },
    filter,
  },
});

export const streamEvents = operation({
  id: "streamEvents",
  method: "GET",
  path: "/tenants/events/stream",
  tag: "Events",
  summary: "Follow the tenant's audit record",
  description:
    "Server-sent events: each new entry as it is written, with its position as `id`, the event type `event`, and the entry as JSON in `data`. `Last-Event-ID`, which clients send by themselves when they connect again, goes on after that position; without it the stream begins with what comes next. Where entries after that position were pruned, an event of type `pruned` says so. The stream ends when the key is revoked or expires.",
  access: "events:read",
  success: {
    status: 200,
    kind: "stream",
    description: "Server-sent events, until one side ends them.",
    mediaTypes: ["text/event-stream"],
    query: {
      lastEventId: { description: "The position to go on after, where the header `Last-Event-ID` cannot be sent." },
    },
    filter,
    live: true,
  },
  errors: ["too_many_streams", "no_stream_free"],
});

export const readEventEffect = operation({
  id: "readEventEffect",
  method: "GET",
  path: "/tenants/events/{id}/effect",
  tag: "Events",
  summary: "Read what the command of an entry did to access",
  description:
    "Who gained and who lost access to what by the whole command that the entry belongs to; worked out and stored when it ran. `Gatehouse-Event` of a write names the entry. 404 also for commands that cannot change access, and for those from before effects were stored.",
  access: "events:read",
  parameters: { id: "string" },
  success: { status: 200, kind: "report", body: EventEffect },
});

export const readSigningKey = operation({
  id: "readSigningKey",
  method: "GET",
  path: "/tenants/events/signing-key",
  tag: "Events",
  summary: "Read the key that the audit record's signatures are checked with",
  description: "Keep it elsewhere, and give it to `gatehouse audit verify --public-key`.",
  access: "events:read",
  success: { status: 200, kind: "record", body: SigningKey },
});
