/** A connection that receives at most a given number of bytes. */
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import type { Pace } from "./handshake-pace.ts";
import { threadTimeMs } from "./thread-time.ts";

/** The bytes that a server can send before the end of the handshake. Usual certificate chains have 2 to 6 KiB. */
const maxHandshakeBytes = 16 * 1024;
/** Bytes are passed on in parts, so that nothing more is processed after the request has ended. */
const maxPartBytes = 4 * 1024;

/** The server sent more bytes than the connection may receive. */
export class TooManyBytesError extends Error {}

/**
 * Passes bytes on and counts them before TLS and HTTP process them. Neither has a limit for what is not content:
 * certificates, interim responses, extensions of chunks.
 */
export class BoundedConnection extends Duplex {
  readonly #socket: Socket;
  #bytesLeft: number;
  /** Undefined after the handshake, and without TLS. */
  #handshake: { readonly tenantId: string; readonly pace: Pace } | undefined;

  /** @param limit the number of bytes without TLS; with TLS, the tenant until `endHandshake` sets the number */
  constructor(
    socket: Socket,
    limit: { readonly maxBytes: number } | { readonly tenantId: string; readonly pace: Pace },
  ) {
    super();
    this.#socket = socket;
    if ("maxBytes" in limit) {
      this.#bytesLeft = limit.maxBytes;
    } else {
      this.#bytesLeft = maxHandshakeBytes;
      this.#handshake = limit;
    }
    socket.on("data", (chunk: Buffer) => void this.#receive(chunk));
    socket.on("end", () => this.push(null));
    socket.on("error", (error) => this.destroy(error));
  }

  /** @param maxBytes the bytes that can be received from now on */
  endHandshake(maxBytes: number): void {
    this.#handshake = undefined;
    this.#bytesLeft = maxBytes;
  }

  async #receive(chunk: Buffer): Promise<void> {
    this.#socket.pause();
    for (let rest = chunk; rest.length > 0; ) {
      for (let pause = this.#pause(); pause !== undefined; pause = this.#pause()) await pause;
      if (this.destroyed) return;
      if (this.#bytesLeft === 0) {
        this.destroy(new TooManyBytesError());
        return;
      }
      const part = rest.subarray(0, Math.min(maxPartBytes, this.#bytesLeft));
      rest = rest.subarray(part.length);
      this.#bytesLeft -= part.length;
      this.#pass(part);
    }
    this.#socket.resume();
  }

  #pause(): Promise<void> | undefined {
    return this.#handshake?.pace.pauseOf(this.#handshake.tenantId);
  }

  /** Readers process the bytes before `push` returns. */
  #pass(part: Buffer): void {
    const handshake = this.#handshake;
    if (handshake === undefined) {
      this.push(part);
      return;
    }
    const before = threadTimeMs();
    this.push(part);
    handshake.pace.count(handshake.tenantId, threadTimeMs() - before);
  }

  /** Nothing waits for readers, because the number of bytes is limited. */
  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#socket.write(chunk, callback);
  }

  override _final(callback: () => void): void {
    this.#socket.end(callback);
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#socket.destroy();
    callback(error);
  }
}
