/**
 * Limits the memory of responses that their clients have not read yet, and ends those that are read too slowly
 * (docs/decisions/0278-responses-that-nobody-reads.md). Content of several responses counts once, because they share
 * its memory.
 */
import type { ServerResponse } from "node:http";
import { constants, type Http2ServerResponse } from "node:http2";
import { AppError } from "../platform/app-error.ts";
import type { Clock } from "../platform/clock.ts";

const mebibyte = 1_048_576;

export interface UnsentLimits {
  /** The most bytes of a holder: a tenant, or an address without one. */
  readonly holderBytes: number;
  /** The most bytes of all holders. */
  readonly totalBytes: number;
}

const defaultLimits: UnsentLimits = { holderBytes: 128 * mebibyte, totalBytes: 512 * mebibyte };

/** Shorter content does not count. The memory of its connection is larger. */
export const leastCountedBytes = 16_384;
/** A client must read at least this much of a response, or its rest, in each interval. */
const leastReadBytes = mebibyte;
const readIntervalMs = 60_000;
/** How often all responses are checked. */
const checkMs = 15_000;
/** If its holder has no room, a response ends after this time without progress. */
const patienceMs = 10_000;

type Response = ServerResponse | Http2ServerResponse;

/** The content of a response. */
interface Held {
  readonly response: Response;
  readonly holder: Holder;
  content: Buffer;
  /** The bytes that were written to the response, and may wait there. Undefined until it is sent. */
  written: number | undefined;
  /** The time of the last progress. */
  progressAt: number;
  /** The begin of the current interval. */
  interval: { readonly at: number; readonly read: number };
}

/** Content of responses, which counts once however many of them have it. */
class Contents {
  bytes = 0;
  readonly #responses = new Map<Buffer, number>();

  has(content: Buffer): boolean {
    return this.#responses.has(content);
  }

  add(content: Buffer): void {
    const others = this.#responses.get(content) ?? 0;
    this.#responses.set(content, others + 1);
    if (others === 0) this.bytes += content.length;
  }

  delete(content: Buffer): void {
    const others = (this.#responses.get(content) ?? 1) - 1;
    if (others > 0) this.#responses.set(content, others);
    else {
      this.#responses.delete(content);
      this.bytes -= content.length;
    }
  }
}

interface Holder {
  readonly name: string;
  readonly responses: Set<Held>;
  readonly contents: Contents;
}

export class UnsentBytes {
  readonly #clock: Clock;
  readonly #limits: UnsentLimits;
  readonly #holders = new Map<string, Holder>();
  readonly #held = new Map<Response, Held>();
  /** The content of all holders, which can share it as well. */
  readonly #contents = new Contents();

  constructor(clock: Clock, limits = defaultLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** The counted bytes of a holder; of all without a name. */
  bytes(name?: string): number {
    return name === undefined ? this.#contents.bytes : (this.#holders.get(name)?.contents.bytes ?? 0);
  }

  /**
   * Requires that a holder has room for further responses. Changes have twice the room of reads: an administrator can
   * still revoke the key that uses it up.
   *
   * @throws AppError rate_limited
   */
  requireRoom(name: string, isChange: boolean): void {
    this.#makeRoom(name, isChange ? 2 : 1, 1);
  }

  /**
   * Counts the content of a response until `release`, in place of content that the response had before. Content that
   * exceeds the limit alone is accepted if nothing else is held.
   *
   * @param isChange whether the response must be sent, because the request has changed data
   * @throws AppError rate_limited
   */
  hold(name: string, response: Response, content: Buffer, isChange: boolean): void {
    if (this.#held.get(response)?.content === content) return;
    this.release(response);
    if (!isChange && this.#holders.get(name)?.contents.has(content) !== true) this.#makeRoom(name, 1, content.length);
    this.#add(name, response, content);
    this.#limitTotal(response);
  }

  /** Records that bytes of a response were written. */
  wrote(response: Response, bytes: number): void {
    const held = this.#held.get(response);
    if (held === undefined) return;
    const now = this.#clock.elapsedMs();
    if (held.written === undefined) held.interval = { at: now, read: 0 };
    held.written = (held.written ?? 0) + bytes;
    held.progressAt = now;
  }

  /** Ends the count of a response. May be called more than once. */
  release(response: Response): void {
    const held = this.#held.get(response);
    if (held === undefined) return;
    this.#held.delete(response);
    const { holder, content } = held;
    holder.responses.delete(held);
    holder.contents.delete(content);
    this.#contents.delete(content);
    if (holder.responses.size === 0) this.#holders.delete(holder.name);
  }

  /** Checks the progress of all responses periodically. Returns the function that stops it. */
  start(): () => void {
    const timer = setInterval(() => this.check(), checkMs).unref();
    return () => clearInterval(timer);
  }

  /** Ends the responses of which too little was read in the last interval. */
  check(): void {
    const now = this.#clock.elapsedMs();
    for (const held of this.#held.values()) {
      if (held.written === undefined || now - held.interval.at < readIntervalMs) continue;
      const read = held.written - waitingBytes(held.response);
      const rest = held.content.length - held.interval.read;
      if (read - held.interval.read < Math.min(leastReadBytes, rest)) this.#end(held);
      else held.interval = { at: now, read };
    }
  }

  /** @param factor of the limit */
  #makeRoom(name: string, factor: number, bytes: number): void {
    for (;;) {
      const holder = this.#holders.get(name);
      if (holder === undefined || holder.contents.bytes + bytes <= factor * this.#limits.holderBytes) return;
      const longest = longestWaiting(holder);
      if (longest === undefined || this.#clock.elapsedMs() - longest.progressAt < patienceMs) throw this.#noRoom();
      this.#end(longest);
    }
  }

  #noRoom(): AppError {
    const limit = Math.round(this.#limits.holderBytes / mebibyte);
    return new AppError("rate_limited", {
      detail: `Responses that were not read yet would exceed ${limit} MiB in total. Read them, or send fewer requests at once.`,
      retryAfterSeconds: 5,
    });
  }

  #add(name: string, response: Response, content: Buffer): void {
    let holder = this.#holders.get(name);
    if (holder === undefined) {
      holder = { name, responses: new Set(), contents: new Contents() };
      this.#holders.set(name, holder);
    }
    holder.contents.add(content);
    this.#contents.add(content);
    const now = this.#clock.elapsedMs();
    const interval = { at: now, read: 0 };
    const held: Held = { response, holder, content, written: undefined, progressAt: now, interval };
    holder.responses.add(held);
    this.#held.set(response, held);
  }

  /** Ends responses of the holders with the most bytes, but not the one that was added last. */
  #limitTotal(added: Response): void {
    while (this.#contents.bytes > this.#limits.totalBytes) {
      const largestFirst = [...this.#holders.values()].sort((one, other) => other.contents.bytes - one.contents.bytes);
      const longest = largestFirst.map((holder) => longestWaiting(holder, added)).find((held) => held !== undefined);
      if (longest === undefined) return;
      this.#end(longest);
    }
  }

  #end({ response }: Held): void {
    this.release(response);
    if ("stream" in response) {
      response.stream.close(constants.NGHTTP2_CANCEL);
      // Frees the content even if the connection cannot send the reset.
      response.stream.destroy();
    } else response.destroy();
  }
}

/** The response that has waited for its client the longest. Responses that are not being sent wait for the server. */
function longestWaiting({ responses }: Holder, except?: Response): Held | undefined {
  let longest: Held | undefined;
  for (const held of responses) {
    if (held.written === undefined || held.response === except) continue;
    if (longest === undefined || held.progressAt < longest.progressAt) longest = held;
  }
  return longest;
}

/** The bytes that were written to a response, and that the system or the client has not accepted. */
function waitingBytes(response: Response): number {
  return "stream" in response ? response.stream.writableLength : response.writableLength;
}
