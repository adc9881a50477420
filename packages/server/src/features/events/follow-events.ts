/** The audit record as live server-sent events (WHATWG HTML, section 9.2). */
import type { Event } from "@gatehouse/contract/records/event";
import { AppError } from "../../platform/app-error.ts";
import type { EventStream } from "../../platform/audit/event-streams.ts";
import type { TenantReader } from "../../platform/audit/read-record.ts";
import { readEntries, readHead } from "../../platform/audit/record.queries.ts";
import type { Filter } from "../../platform/list-query.ts";

const rowsAtOnce = 100;
/** The number of positions that one read covers, even if the filters match none of them. */
const positionsAtOnce = 10_000;
/** The reconnection delay for clients after the stream ends, in milliseconds. */
const retryMs = 2_000;

export interface FollowOptions {
  readonly stream: EventStream;
  readonly read: TenantReader;
  readonly filters: readonly Filter[];
  /** The position after which the stream continues. */
  readonly after: number;
  /** Rejects if the caller may no longer read events. */
  readonly authorizeAgain: () => Promise<void>;
  /** The time until the caller's key expires, in milliseconds. */
  readonly expiresInMs: () => number;
  readonly heartbeatMs: number;
}

/**
 * Reads events from the table. A position is visible only after all earlier ones, so no event is missed or sent twice,
 * whichever replica sends the notification.
 */
export async function* followEvents(options: FollowOptions): AsyncGenerator<string> {
  const { stream, read, filters, authorizeAgain, expiresInMs, heartbeatMs } = options;
  let position = options.after;
  try {
    yield `retry: ${retryMs}\n\n`;
    while (!stream.isEnded) {
      await authorizeAgain();
      const from = position;
      const [head, events] = await read((tx) =>
        Promise.all([readHead(tx), readEntries(tx, filters, from, from + positionsAtOnce, rowsAtOnce)]),
      );
      if (head === undefined) return;
      if (from < head.prunedCount) {
        position = head.prunedCount;
        yield eventText("pruned", position, { prunedThrough: position });
        continue;
      }
      const last = events.at(-1)?.position ?? from;
      position =
        events.length === rowsAtOnce ? last : Math.max(from, Math.min(from + positionsAtOnce, head.eventCount));
      const text = events.map((event) => eventText("event", event.position, event)).join("");
      // An id without data lets a reconnecting client skip what was already searched.
      if (text !== "" || position > from) yield position > last ? `${text}id: ${position}\n\n` : text;
      if (position < head.eventCount) continue;
      const hasEntries = await stream.waitForEntries(Math.max(0, Math.min(heartbeatMs, expiresInMs())));
      if (!hasEntries && !stream.isEnded) yield ": no news\n\n";
    }
  } catch (error) {
    // The key was revoked or expired, or the database is away. The response has begun, so only the next request gets an
    // error status.
    if (!(error instanceof AppError)) throw error;
  } finally {
    stream.end();
  }
}

function eventText(type: "event" | "pruned", position: number, data: Event | object): string {
  return `id: ${position}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
}
