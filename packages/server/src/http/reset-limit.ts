/** Limits the streams that clients of HTTP/2 reset: each costs the server a request, and the client almost nothing. */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Clock } from "../platform/clock.ts";
import { addressGroup } from "./rate-limits.ts";

/** The most resets of a connection in a window. A page that is left resets at most its concurrent streams. */
const maxResets = 200;
const windowMs = 10_000;
/** How long an address is served without HTTP/2 after a connection from it exceeded the limit, in milliseconds. */
const withoutHttp2Ms = 60_000;
/** The most addresses that are remembered. */
const maxAddresses = 10_000;

export class ResetLimit {
  readonly #clock: Pick<Clock, "elapsedMs">;
  /** The addresses without HTTP/2, and the end of it. The earliest end comes first. */
  readonly #ends = new Map<string, number>();

  constructor(clock: Pick<Clock, "elapsedMs">) {
    this.#clock = clock;
  }

  /** Whether new connections of an address can use HTTP/2. */
  allowsHttp2(address: string | undefined): boolean {
    if (this.#ends.size === 0) return true;
    const end = this.#ends.get(addressGroup(address ?? ""));
    return end === undefined || end <= this.#clock.elapsedMs();
  }

  /** Destroys the session if its client resets too many streams. */
  watch(session: ServerHttp2Session): void {
    const address = addressGroup(session.socket.remoteAddress ?? "");
    let resets = 0;
    let windowEnd = 0;
    const closed = (stream: ServerHttp2Stream) => {
      // A client can also reset a stream with the code of a regular end.
      if (session.destroyed || (stream.rstCode === constants.NGHTTP2_NO_ERROR && !stream.aborted)) return;
      const now = this.#clock.elapsedMs();
      if (now >= windowEnd) {
        resets = 0;
        windowEnd = now + windowMs;
      }
      resets += 1;
      if (resets <= maxResets) return;
      this.#refuse(address, now);
      session.destroy(new Error("too many resets"), constants.NGHTTP2_ENHANCE_YOUR_CALM);
    };
    session.on("stream", (stream) => {
      if (stream.destroyed) closed(stream);
      else stream.once("close", () => closed(stream));
    });
  }

  #refuse(address: string, now: number): void {
    this.#ends.delete(address);
    this.#ends.set(address, now + withoutHttp2Ms);
    for (const [other, end] of this.#ends) {
      if (end > now && this.#ends.size <= maxAddresses) break;
      this.#ends.delete(other);
    }
  }
}
