/**
 * Closes responses whose clients read nothing for too long. Without this limit, clients that never read would hold
 * memory and open files forever.
 */
import type { Server, ServerResponse } from "node:http";
import type { Http2ServerResponse, ServerHttp2Stream } from "node:http2";

/** How long a client can read nothing of a response that has no limit of its own, in milliseconds. */
export const defaultStallMs = 60_000;

type Response = ServerResponse | Http2ServerResponse;

/** The limits of responses whose clients can pause for longer, by response of HTTP/1.1 and by stream of HTTP/2. */
const longerLimits = new WeakMap<ServerResponse | ServerHttp2Stream, number>();

/** Lets the client of a response pause for longer. */
export function allowStall(response: Response, stallMs: number): void {
  longerLimits.set("stream" in response ? response.stream : response, stallMs);
}

/** The limit of the response on a stream, in milliseconds. */
export function stallLimitOf(stream: ServerHttp2Stream, stallMs: number): number {
  return Math.max(stallMs, longerLimits.get(stream) ?? 0);
}

/** Limits responses over HTTP/1.1. `Http2Connections` limits those over HTTP/2. Returns the server. */
export function limitStalls(server: Server, stallMs: number): Server {
  server.prependListener("request", (_request, response: Response) => {
    if ("stream" in response) return;
    // Node.js measures the time without progress, and replaces the limit when the response is complete.
    response.setTimeout(stallMs);
    response.on("timeout", closeIfStalled);
  });
  return server;
}

/** One function for all responses. A response without waiting content waits for the server, not for its client. */
function closeIfStalled(this: ServerResponse): void {
  if (this.writableLength === 0) return;
  const longer = longerLimits.get(this);
  longerLimits.delete(this);
  if (longer === undefined) this.destroy();
  else this.setTimeout(longer);
}
