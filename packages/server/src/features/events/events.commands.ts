import type * as operations from "@gatehouse/contract/operations/events.operations";
import type { SigningKey } from "@gatehouse/contract/records/event";
import { AppError } from "../../platform/app-error.ts";
import { readHead } from "../../platform/audit/record.queries.ts";
import { csvExport, ndjsonExport } from "../../platform/audit/write-export.ts";
import type { Call } from "../../platform/call.ts";
import { pageOfItems } from "../../platform/db/list-statement.ts";
import { type Outcome, record } from "../../platform/outcome.ts";
import * as queries from "./events.queries.ts";
import { followEvents } from "./follow-events.ts";

/**
 * The time for which a client may pause a download, in milliseconds: long enough for a person to read its first part.
 */
const exportStallMs = 10 * 60_000;

export async function listEvents(call: Call<typeof operations.listEvents>): Promise<Outcome> {
  const { events, total } = await call.read((tx) => queries.listEvents(tx, call.listQuery));
  return { kind: "page", page: pageOfItems(call.listQuery, events, total) };
}

export async function exportEvents(call: Call<typeof operations.exportEvents>): Promise<Outcome> {
  const { tenantId, now } = call;
  const { filters } = call.listQuery;
  const isCsv = call.queryParameter("format") === "csv";
  // An export is signed, and a signature would cover up that the record was rewritten.
  if (!isCsv) await requireUncontradicted(call);
  const { signer, handovers } = call.audit.keys;
  const evaluate = call.evaluateAlways.bind(call);
  const options = { tenantId, filters, signer, handovers, now, read: call.read.bind(call), evaluate };
  return {
    kind: "stream",
    mediaType: isCsv ? "text/csv; charset=utf-8; header=present" : "application/x-ndjson",
    fileName: `audit-${now.toISOString().slice(0, 10)}.${isCsv ? "csv" : "ndjson"}`,
    stallMs: exportStallMs,
    chunks: () => (isCsv ? csvExport(options) : ndjsonExport(options)),
  };
}

/** @throws AppError audit_record_contradicted */
async function requireUncontradicted(call: Call<typeof operations.exportEvents>): Promise<void> {
  const contradiction = await call.audit.guard.contradiction(call.tenantId);
  if (contradiction !== undefined) throw new AppError("audit_record_contradicted", { detail: contradiction.message });
}

export async function streamEvents(call: Call<typeof operations.streamEvents>): Promise<Outcome> {
  const { streams } = call.audit;
  const { limits } = streams;
  const after = await startOf(call);
  const expiresAtMs = call.limits?.expiresAt ? Date.parse(call.limits.expiresAt) : Number.POSITIVE_INFINITY;
  const expiresAt = performance.now() + expiresAtMs - call.now.getTime();
  const stream = streams.open(call.tenantId, call.actor.id ?? "");
  return {
    kind: "stream",
    mediaType: "text/event-stream; charset=utf-8",
    stallMs: limits.stallMs,
    chunks: (closed) => {
      closed.addEventListener("abort", () => stream.end());
      return followEvents({
        stream,
        after,
        filters: call.listQuery.filters,
        heartbeatMs: limits.heartbeatMs,
        read: call.read.bind(call),
        authorizeAgain: () => call.authorizeAgain(),
        expiresInMs: () => expiresAt - performance.now(),
      });
    },
  };
}

/** @throws AppError invalid_parameter */
async function startOf(call: Call<typeof operations.streamEvents>): Promise<number> {
  const text = call.lastEventId ?? call.queryParameter("lastEventId");
  const head = await call.read(readHead);
  const end = head?.eventCount ?? 0;
  if (text === undefined) return end;
  const position = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (position <= end) return position;
  const detail = Number.isNaN(position)
    ? "Last-Event-ID must be the position of an entry."
    : `Last-Event-ID is ${position}, and the record ends at position ${end}: it is another record, or an earlier state of it.`;
  throw new AppError("invalid_parameter", {
    detail,
    errors: [{ pointer: "Last-Event-ID", message: "is not a position" }],
  });
}

export async function readSigningKey(call: Call<typeof operations.readSigningKey>): Promise<Outcome> {
  const body: SigningKey = { algorithm: "Ed25519", publicKey: call.audit.keys.signer.publicKey };
  return record(body, 1);
}
