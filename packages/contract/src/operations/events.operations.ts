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
  reverts: { kind: "uuid" },
} as const;

export const listEvents = operation({
  id: "listEvents",
  method: "GET",
  path: "/tenants/events",
  tag: "Events",
  summary: "List the tenant's audit record",
  description:
    "Every change with its actor, target, states before and after, request id and source address. Ordered from oldest to newest; `sort=-position` reverses the order.",
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
    "NDJSON contains everything that `gatehouse audit verify --file` needs to verify the record elsewhere: entries, the seals that chain them, signed checkpoints, and a signature over the whole export. With filters, it contains the matching entries and every seal between the first and the last of them. CSV is meant for spreadsheets and contains only entries. Values that a spreadsheet would interpret as a formula are prefixed with an apostrophe.",
  access: "events:read",
  success: {
    status: 200,
    kind: "stream",
    description: "The audit record as a stream.",
    mediaTypes: ["application/x-ndjson", "text/csv"],
    query: { format: { description: "Format of the export.", values: ["ndjson", "csv"], default: "ndjson" } },
    filter,
  },
  errors: ["audit_record_contradicted"],
});

export const streamEvents = operation({
  id: "streamEvents",
  method: "GET",
  path: "/tenants/events/stream",
  tag: "Events",
  summary: "Stream new entries of the audit record",
  description:
    "Server-sent events: each new entry as it is written, with its position as `id`, the event type `event`, and the entry as JSON in `data`. `Last-Event-ID`, which clients send automatically when they reconnect, resumes after that position. Without it, the stream starts with the next entry. If entries after that position were pruned, the stream contains an event of type `pruned`. The stream ends when the key is revoked or expires.",
  access: "events:read",
  success: {
    status: 200,
    kind: "stream",
    description: "Server-sent events until either side closes the connection.",
    mediaTypes: ["text/event-stream"],
    query: {
      lastEventId: { description: "The position to resume after, if the header `Last-Event-ID` cannot be sent." },
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
  summary: "Read the access impact of an event",
  description:
    "The access gained and lost through the command that the entry belongs to. The impact is computed and stored when the command runs. The header `Gatehouse-Event` of a write has the entry's id. Returns 404 for commands that cannot change access, and for commands that ran before impacts were stored.",
  access: "events:read",
  parameters: { id: "string" },
  success: { status: 200, kind: "report", body: EventEffect },
});

export const readSigningKey = operation({
  id: "readSigningKey",
  method: "GET",
  path: "/tenants/events/signing-key",
  tag: "Events",
  summary: "Read the public key of the audit record's signatures",
  description: "Store the key outside Gatehouse and pass it to `gatehouse audit verify --public-key`.",
  access: "events:read",
  success: { status: 200, kind: "record", body: SigningKey },
});
