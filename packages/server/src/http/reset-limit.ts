/** Limits the streams that clients of HTTP/2 reset: each costs the server a request, and the client almost nothing. */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import { blockCheck } from "@gatehouse/addresses/disjoint-ranges";
import { formatIpAddress, parseIpAddress } from "@gatehouse/addresses/ip-address";
import type { Clock } from "../platform/clock.ts";
import { addressGroup } from "../platform/rate-limits/address-group.ts";

/** Maximum resets of a connection per window. A browser that leaves a page resets at most its concurrent streams. */
const maxResets = 200;
/** Maximum resets of all connections of an address per window: an office can have many browsers. */
const maxAddressResets = 1_000;
const windowMs = 10_000;
/** How long an address is served without HTTP/2 after it exceeded a limit, in milliseconds. */
const withoutHttp2Ms = 60_000;
/** The most addresses that are remembered. */
const maxAddresses = 10_000;

interface Resets {
  count: number;
  readonly windowEnd: number;
}

export interface ResetLimitOptions {
  readonly clock: Pick<Clock, "elapsedMs">;
  /** Addresses and CIDR blocks. Connections of proxies carry the requests of many clients, and are not limited. */
  readonly trustedProxies: readonly string[];
}

export class ResetLimit {
  readonly #clock: Pick<Clock, "elapsedMs">;
  readonly #isTrusted: (address: string) => boolean;
  /** Address groups without HTTP/2, and the time at which each may use it again, earliest first. */
  readonly #ends = new Map<string, number>();
  readonly #resets = new Map<string, Resets>();

  constructor({ clock, trustedProxies }: ResetLimitOptions) {
    this.#clock = clock;
    this.#isTrusted = blockCheck(trustedProxies);
  }

  /** Whether new connections of an address can use HTTP/2. */
  allowsHttp2(address: string | undefined): boolean {
    if (this.#ends.size === 0) return true;
    const end = this.#ends.get(addressGroup(address ?? ""));
    return end === undefined || end <= this.#now();
  }

  /** Destroys the session if its client resets too many streams. */
  watch(session: ServerHttp2Session): void {
    const text = session.socket.remoteAddress ?? "";
    const address = parseIpAddress(text);
    if (address !== undefined && this.#isTrusted(formatIpAddress(address))) return;
    const group = addressGroup(text);
    let ofConnection = this.#newWindow();
    const closed = (stream: ServerHttp2Stream) => {
      // A client can also reset a stream with the code of a regular end.
      if (stream.rstCode === constants.NGHTTP2_NO_ERROR && !stream.aborted) return;
      if (ofConnection.windowEnd <= this.#now()) ofConnection = this.#newWindow();
      ofConnection.count += 1;
      const ofAddress = this.#resetsOf(group);
      ofAddress.count += 1;
      if (ofConnection.count <= maxResets && ofAddress.count <= maxAddressResets) return;
      this.#refuse(group);
      if (!session.destroyed) session.destroy(new Error("too many resets"), constants.NGHTTP2_ENHANCE_YOUR_CALM);
    };
    session.on("stream", (stream) => {
      if (stream.destroyed) closed(stream);
      else stream.once("close", () => closed(stream));
    });
  }

  #now(): number {
    return this.#clock.elapsedMs();
  }

  #newWindow(): Resets {
    return { count: 0, windowEnd: this.#now() + windowMs };
  }

  #resetsOf(group: string): Resets {
    const known = this.#resets.get(group);
    if (known !== undefined && known.windowEnd > this.#now()) return known;
    const started = this.#newWindow();
    setLast(this.#resets, group, started);
    return started;
  }

  #refuse(group: string): void {
    setLast(this.#ends, group, this.#now() + withoutHttp2Ms);
  }
}

/** Sets an entry as the latest one, and forgets the oldest one beyond the maximum. */
function setLast<Value>(entries: Map<string, Value>, key: string, value: Value): void {
  entries.delete(key);
  entries.set(key, value);
  const [oldest] = entries.keys();
  if (entries.size > maxAddresses && oldest !== undefined) entries.delete(oldest);
}
