/**
 * The connections over HTTP/2: limits what the clients of one address hold, and ends what they stop reading
 * (docs/decisions/0251-clients-that-never-read.md).
 */
import { constants, type Http2Session, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { TLSSocket } from "node:tls";
import { blockCheck } from "@gatehouse/addresses/disjoint-ranges";
import { formatIpAddress, parseIpAddress } from "@gatehouse/addresses/ip-address";
import { addressGroup } from "../platform/rate-limits/address-group.ts";
import { stallLimitOf } from "./stalled-responses.ts";
import { StreamTurns } from "./stream-turns.ts";

/** The most connections of an address. Further ones use HTTP/1.1, with one response at a time. */
const maxAddressConnections = 100;
/** The number of open streams of an address from which each of its connections has only its share. */
const maxAddressStreams = 1_000;
/** A connection's share, which one client behind a shared address cannot take from the others. */
const streamShare = 10;
/** The checks per stall limit. */
const checksPerLimit = 4;

interface Address {
  connections: number;
  streams: number;
}

interface Connection {
  readonly socket: TLSSocket;
  /** Undefined for trusted proxies, whose connections carry the requests of many clients. */
  readonly address: Address | undefined;
  readonly streams: Map<ServerHttp2Stream, Waiting>;
  readonly turns: StreamTurns;
  /** Whether the previous check found that only the socket was left. */
  hadEnded: boolean;
}

/** Content that waits for the client to read. */
interface Waiting {
  bytes: number;
  /** The check that first found this content. */
  since: number;
}

export interface Http2ConnectionsOptions {
  /** Addresses and CIDR blocks. */
  readonly trustedProxies: readonly string[];
  /** How long a client can read nothing of a response, in milliseconds. */
  readonly stallMs: number;
}

export class Http2Connections {
  readonly #isTrusted: (address: string) => boolean;
  readonly #stallMs: number;
  readonly #checkMs: number;
  readonly #addresses = new Map<string, Address>();
  /** The addresses of admitted sockets. */
  readonly #addressOf = new WeakMap<TLSSocket, Address>();
  readonly #connections = new Map<Http2Session, Connection>();
  #checks = 0;

  constructor({ trustedProxies, stallMs }: Http2ConnectionsOptions) {
    this.#isTrusted = blockCheck(trustedProxies);
    this.#stallMs = stallMs;
    this.#checkMs = stallMs / checksPerLimit;
  }

  /** Counts a connection of a client that offers HTTP/2, until it closes. Returns whether it can use HTTP/2. */
  admit(socket: TLSSocket): boolean {
    if (this.#addressOf.has(socket)) return true;
    const text = socket.remoteAddress ?? "";
    const parsed = parseIpAddress(text);
    if (parsed !== undefined && this.#isTrusted(formatIpAddress(parsed))) return true;
    const group = addressGroup(text);
    const address = this.#addresses.get(group) ?? { connections: 0, streams: 0 };
    if (address.connections >= maxAddressConnections) return false;
    address.connections += 1;
    this.#addresses.set(group, address);
    this.#addressOf.set(socket, address);
    socket.once("close", () => {
      address.connections -= 1;
      if (address.connections === 0) this.#addresses.delete(group);
    });
    return true;
  }

  /** Adds the session of an admitted connection. */
  add(session: ServerHttp2Session, socket: TLSSocket): void {
    const address = this.#addressOf.get(socket);
    this.#connections.set(session, { socket, address, streams: new Map(), turns: new StreamTurns(), hadEnded: false });
    // Node.js emits no "close" for a session whose client reads nothing more, but always for its socket.
    socket.once("close", () => this.#connections.delete(session));
  }

  /** Counts a stream until it closes, or refuses it. Returns whether to serve it. */
  serves(stream: ServerHttp2Stream): boolean {
    const connection = stream.session === undefined ? undefined : this.#connections.get(stream.session);
    if (connection === undefined) return false; // it has closed
    const { address, streams } = connection;
    if (address !== undefined && address.streams >= maxAddressStreams && streams.size >= streamShare) {
      // The client can send the request again (RFC 9113, section 8.7).
      stream.close(constants.NGHTTP2_REFUSED_STREAM);
      return false;
    }
    const waiting = { bytes: 0, since: 0 };
    streams.set(stream, waiting);
    if (address !== undefined) address.streams += 1;
    stream.on("drain", () => {
      waiting.bytes = 0;
    });
    stream.once("close", () => {
      streams.delete(stream);
      if (address !== undefined) address.streams -= 1;
    });
    return true;
  }

  /** Runs the request of a stream when its turn comes. Trusted proxies carry those of many clients, and do not wait. */
  inTurn(stream: ServerHttp2Stream, run: () => void): void {
    const connection = stream.session === undefined ? undefined : this.#connections.get(stream.session);
    if (connection?.address === undefined) run();
    else connection.turns.inTurn(stream, run);
  }

  /** Checks for stalled streams and connections periodically. Returns the function that stops it. */
  start(): () => void {
    const timer = setInterval(() => this.#check(), this.#checkMs).unref();
    return () => clearInterval(timer);
  }

  /** Closes all connections, each after its open streams. */
  close(): void {
    for (const session of this.#connections.keys()) session.close();
  }

  #check(): void {
    this.#checks += 1;
    for (const [session, connection] of this.#connections) {
      for (const [stream, waiting] of connection.streams) this.#checkStream(stream, waiting);
      const hasEnded = session.destroyed || (session.closed && connection.streams.size === 0);
      // Node.js waits for the client to read what was sent before, even after `destroy`.
      if (hasEnded && connection.hadEnded) connection.socket.destroy();
      connection.hadEnded = hasEnded;
    }
  }

  #checkStream(stream: ServerHttp2Stream, waiting: Waiting): void {
    const { writableLength } = stream;
    if (writableLength !== waiting.bytes) {
      waiting.bytes = writableLength;
      waiting.since = this.#checks;
      return;
    }
    const stalledMs = (this.#checks - waiting.since) * this.#checkMs;
    if (writableLength === 0 || stalledMs < stallLimitOf(stream, this.#stallMs)) return;
    stream.close(constants.NGHTTP2_CANCEL);
    // Frees the content even if the connection cannot send the reset.
    stream.destroy();
  }
}
