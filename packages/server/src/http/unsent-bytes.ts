/**
 * Limits the memory of responses that their clients have not read yet, and ends those that are read too slowly
 * (docs/decisions/0278-responses-that-nobody-reads.md). Content that several responses share counts once per holder and
 * once in total, because it is in memory once.
 */
import type { ServerResponse } from "node:http";
import { constants, type Http2ServerResponse } from "node:http2";
import { AppError } from "../platform/app-error.ts";
import type { Clock } from "../platform/clock.ts";

const mebibyte = 1_048_576;

export interface UnsentLimits {
  /** The maximum for one holder: a tenant, or the operator. */
  readonly holderBytes: number;
  /** The maximum for all holders. */
  readonly totalBytes: number;
}

/** The caller of a request. */
export interface Requester {
  /** A tenant, or the operator. */
  readonly holder: string;
  /** The user or key. */
  readonly actor: string;
}

/**
 * Returns the limits of a process. Unread responses take up at most a quarter of its memory.
 *
 * @param memory the limit of the process's control group, in bytes; 0 or undefined: none is known
 */
export function unsentLimits(memory: number | undefined): UnsentLimits {
  const quarter = memory === undefined || memory === 0 ? Number.POSITIVE_INFINITY : memory / 4;
  return { holderBytes: 128 * mebibyte, totalBytes: Math.min(512 * mebibyte, quarter) };
}

/** Shorter content does not count. The memory of its connection is larger. */
export const leastCountedBytes = 16_384;
/** A client must read at least this much of a response, or its rest, in each interval. */
const leastReadBytes = mebibyte;
const readIntervalMs = 60_000;
/** How often all responses are checked. */
const checkMs = 15_000;
/** If its holder has no room, a response that stalls for this time is ended. */
const stallMs = 10_000;

type Response = ServerResponse | Http2ServerResponse;

/** The content of a response. */
interface Held {
  readonly response: Response;
  readonly holder: Holder;
  readonly actor: string;
  readonly content: Buffer;
  /** The bytes that were written to the response, and may wait there. Undefined until it is sent. */
  written: number | undefined;
  /** The time of the last progress. */
  progressAt: number;
  /** The start of the current interval: its time, and the bytes that were read before it. */
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

  constructor(clock: Clock, limits = unsentLimits(process.constrainedMemory())) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** The counted bytes of a holder; of all without a name. */
  bytes(name?: string): number {
    return name === undefined ? this.#contents.bytes : (this.#holders.get(name)?.contents.bytes ?? 0);
  }

  /**
   * Requires that a holder has room for a further response. Changes have twice the room of reads.
   *
   * @throws AppError rate_limited
   */
  requireRoom(requester: Requester, isChange: boolean): void {
    this.#makeRoom(requester, isChange ? 2 : 1, 1);
  }

  /**
   * Counts the content of a response until `release`, in place of content that the response had before. Content that
   * exceeds the limit alone is accepted if nothing else is held.
   *
   * @param isChange whether the response must be sent, because the request has changed data
   * @throws AppError rate_limited
   */
  hold(requester: Requester, response: Response, content: Buffer, isChange: boolean): void {
    const former = this.#held.get(response);
    if (former?.content === content) return;
    this.release(response);
    const isAccepted =
      isChange ||
      (former !== undefined && former.content.length >= content.length) ||
      this.#holders.get(requester.holder)?.contents.has(content) === true;
    if (!isAccepted) this.#makeRoom(requester, 1, content.length);
    const held = this.#add(requester, response, content);
    const isWithin = this.#limitTotal(held);
    if (isWithin || isChange || held.holder.responses.size === 1) return;
    this.release(response);
    throw this.#noRoom();
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

  /** Ends the responses of which too little was read in the last interval, if memory is scarce. */
  check(): void {
    const now = this.#clock.elapsedMs();
    for (const held of this.#held.values()) {
      if (held.written === undefined || now - held.interval.at < readIntervalMs) continue;
      const read = held.written - waitingBytes(held.response);
      const rest = held.content.length - held.interval.read;
      const isSlow = read - held.interval.read < Math.min(leastReadBytes, rest);
      if (isSlow && this.#isScarce(held.holder)) this.#end(held);
      else held.interval = { at: now, read };
    }
  }

  /** Whether a holder uses more than a quarter of its limit, or all use more than half of the total. */
  #isScarce({ contents }: Holder): boolean {
    const { holderBytes, totalBytes } = this.#limits;
    return contents.bytes > holderBytes / 4 || this.#contents.bytes > totalBytes / 2;
  }

  /**
   * Ends responses that have stalled. Then ends those of the actor with the most bytes, unless the requester would have
   * as many.
   *
   * @param factor of the limit
   */
  #makeRoom({ holder: name, actor }: Requester, factor: number, bytes: number): void {
    const holder = this.#holders.get(name);
    const hasRoom = () => holder === undefined || holder.contents.bytes + bytes <= factor * this.#limits.holderBytes;
    if (holder === undefined || hasRoom()) return;
    const stalledSince = this.#clock.elapsedMs() - stallMs;
    for (const held of waitingForClients(holder.responses)) {
      if (held.progressAt > stalledSince) break;
      this.#end(held);
      if (hasRoom()) return;
    }
    const [most, ...others] = bytesOfActors(holder);
    if (most === undefined || most.actor === actor) throw this.#noRoom();
    const own = (others.find((each) => each.actor === actor)?.bytes ?? 0) + bytes;
    let left = most.bytes;
    for (const held of waitingForClients(most.responses)) {
      left -= held.content.length;
      if (left < own) break;
      this.#end(held);
      if (hasRoom()) return;
    }
    throw this.#noRoom();
  }

  #noRoom(): AppError {
    const limit = Math.round(this.#limits.holderBytes / mebibyte);
    return new AppError("rate_limited", {
      detail: `Responses that were not read yet would exceed ${limit} MiB in total. Read them, or send fewer requests at once.`,
      retryAfterSeconds: 5,
    });
  }

  #add({ holder: name, actor }: Requester, response: Response, content: Buffer): Held {
    let holder = this.#holders.get(name);
    if (holder === undefined) {
      holder = { name, responses: new Set(), contents: new Contents() };
      this.#holders.set(name, holder);
    }
    holder.contents.add(content);
    this.#contents.add(content);
    const now = this.#clock.elapsedMs();
    const interval = { at: now, read: 0 };
    const held: Held = { response, holder, actor, content, written: undefined, progressAt: now, interval };
    holder.responses.add(held);
    this.#held.set(response, held);
    return held;
  }

  /**
   * Ends responses of the holder with the most bytes, but not the one that was added.
   *
   * @returns false if the holder of the added response has the most, and none of its other responses can be ended
   */
  #limitTotal(added: Held): boolean {
    while (this.#contents.bytes > this.#limits.totalBytes) {
      const [largest, next] = [...this.#holders.values()].sort(byBytes);
      const ends = waitingForClients(largest?.responses ?? []).filter((held) => held !== added);
      if (largest === undefined || ends.length === 0) return largest !== added.holder;
      for (const held of ends) {
        this.#end(held);
        if (this.#contents.bytes <= this.#limits.totalBytes) return true;
        if (largest.contents.bytes < (next?.contents.bytes ?? 0)) break;
      }
    }
    return true;
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

const byBytes = (one: Holder, other: Holder) => other.contents.bytes - one.contents.bytes;

/** The responses that wait for their clients, those without progress for the longest time first. */
function waitingForClients(responses: Iterable<Held>): readonly Held[] {
  // Responses that are not being sent wait for the server.
  const waiting = [...responses].filter(({ written }) => written !== undefined);
  return waiting.sort((one, other) => one.progressAt - other.progressAt);
}

/** The responses of each actor of a holder. The actor with the most bytes comes first. */
function bytesOfActors({ responses }: Holder): readonly ActorBytes[] {
  const actors = new Map<string, { readonly actor: string; readonly responses: Held[]; bytes: number }>();
  for (const held of responses) {
    const known = actors.get(held.actor) ?? { actor: held.actor, responses: [], bytes: 0 };
    actors.set(held.actor, known);
    known.responses.push(held);
    known.bytes += held.content.length;
  }
  return [...actors.values()].sort((one, other) => other.bytes - one.bytes);
}

interface ActorBytes {
  readonly actor: string;
  readonly responses: readonly Held[];
  readonly bytes: number;
}

/** The bytes that were written to a response, and that the system or the client has not accepted. */
function waitingBytes(response: Response): number {
  return "stream" in response ? response.stream.writableLength : response.writableLength;
}
