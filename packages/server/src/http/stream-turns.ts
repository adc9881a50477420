/**
 * The turns of the requests of an HTTP/2 connection (docs/decisions/0277-requests-of-one-connection.md). A client can
 * open many streams with one write. Without turns, they would all run at once.
 */
import type { ServerResponse } from "node:http";
import type { Http2ServerResponse, ServerHttp2Stream } from "node:http2";

/** The most requests of a connection that run at once. */
const mostRunning = 8;

/** Ends the turn of a stream that runs. */
const endOf = new WeakMap<ServerHttp2Stream, () => void>();

export class StreamTurns {
  #running = 0;
  /** The requests that wait, in the order of arrival. */
  readonly #waiting = new Map<ServerHttp2Stream, () => void>();

  /** Runs the request of a stream in its turn, unless the stream closes first. */
  inTurn(stream: ServerHttp2Stream, run: () => void): void {
    if (this.#running < mostRunning && this.#waiting.size === 0) {
      this.#start(stream, run);
      return;
    }
    this.#waiting.set(stream, run);
    stream.once("close", () => this.#waiting.delete(stream));
  }

  #start(stream: ServerHttp2Stream, run: () => void): void {
    this.#running += 1;
    const end = () => {
      if (!endOf.delete(stream)) return;
      this.#running -= 1;
      // Requests of other connections also get a turn.
      setImmediate(() => this.#startNext());
    };
    endOf.set(stream, end);
    stream.once("close", end);
    run();
  }

  #startNext(): void {
    for (const [stream, run] of this.#waiting) {
      if (this.#running >= mostRunning) return;
      this.#waiting.delete(stream);
      // The streams of a connection that ends close one by one.
      if (!stream.destroyed && stream.session?.destroyed === false) this.#start(stream, run);
    }
  }
}

/** Ends the turn of a request whose response is live: it waits for events, and can last as long as the connection. */
export function endTurn(response: ServerResponse | Http2ServerResponse): void {
  if ("stream" in response) endOf.get(response.stream)?.();
}
