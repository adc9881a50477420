/**
 * The turns of the requests of an HTTP/1.1 connection. Node.js parses all pipelined requests of a chunk at once, and
 * would run them together: one client would start hundreds of requests with one write. Here, a request runs when the
 * response before it is complete. Requests that still wait when the connection ends never run.
 *
 * While requests wait, little more is read. A chunk of 64 KiB and these limits bound what a connection holds
 * (docs/decisions/0277-requests-of-one-connection.md).
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

/** From this number of waiting requests on, the connection is not read. Until then, a disconnect is noticed at once. */
const mostRead = 10;
/** The most requests that wait. A chunk with more of them has none with credentials. */
const mostWaiting = 1_000;

interface Connection {
  readonly socket: Socket;
  /** The response to the request that started last. */
  running: ServerResponse;
  /** The response to the request that arrived last. */
  latest: ServerResponse;
  /** The responses to the requests that wait, in the order of arrival. */
  readonly waiting: Set<ServerResponse>;
  /** The response to the request that did not arrive in time, with which the connection ends. */
  late: ServerResponse | undefined;
  isPaused: boolean;
  /** Keeps the connection paused: Node.js resumes it after each request that it has parsed. */
  readonly keepPaused: () => void;
  /**
   * Stops reading again. If a pause follows a resume in the same turn, Node.js still starts to read, and no later pause
   * stops it. The body of a request that waits would fill the memory.
   */
  readonly stopReading: () => void;
}

export class RequestTurns {
  readonly #connections = new WeakMap<Duplex, Connection>();

  /** Returns a listener that calls the handler for each request in its turn. */
  inTurn(handler: RequestListener): RequestListener {
    return (request, response) => {
      const connection = this.#connectionOf(request, response);
      connection.latest = response;
      // Node.js attaches a response to the connection when it is the turn of its request.
      if (response.socket !== null) {
        connection.running = response;
        handler(request, response);
      } else wait(connection, response, () => handler(request, response));
    };
  }

  /** The response to the last request that arrived on a connection. Responses of a connection keep their order. */
  latestResponse(socket: Duplex): ServerResponse | undefined {
    return this.#connections.get(socket)?.latest;
  }

  /** Leaves the reading of a connection to others, after an upgrade. Returns the last response before it. */
  release(socket: Duplex): ServerResponse | undefined {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return undefined;
    this.#connections.delete(socket);
    stopPausing(connection);
    connection.socket.off("resume", connection.stopReading);
    forwardEvents(connection);
    return connection.latest;
  }

  /**
   * Ends a connection whose next request did not arrive in time, after the responses to the requests that did. While
   * requests wait, the server does not read, so the client may not be the cause.
   *
   * @returns whether requests wait. If none does, nothing ends
   */
  closeInTurn(socket: Duplex): boolean {
    const connection = this.#connections.get(socket);
    if (connection === undefined || connection.waiting.size === 0) return false;
    const responses = [connection.running, ...connection.waiting];
    const last = responses.findLastIndex(({ req }, index) => index === 0 || req.complete);
    const response = responses[last];
    if (response !== undefined) response.shouldKeepAlive = false;
    connection.late = responses[last + 1];
    return true;
  }

  #connectionOf({ socket }: IncomingMessage, response: ServerResponse): Connection {
    const known = this.#connections.get(socket);
    if (known !== undefined) return known;
    const connection: Connection = {
      socket,
      running: response,
      latest: response,
      waiting: new Set(),
      late: undefined,
      isPaused: false,
      keepPaused: () => void socket.pause(),
      stopReading: () => void (socket.readableFlowing === false && socket.emit("pause")),
    };
    this.#connections.set(socket, connection);
    socket.on("resume", connection.stopReading);
    return connection;
  }
}

/** Node.js no longer reports to responses after an upgrade that the client reads again, or reads nothing. */
function forwardEvents(connection: Connection): void {
  const { socket, latest } = connection;
  if (latest.writableFinished) return;
  const drained = () => void connection.running.emit("drain");
  const stalled = () => void connection.running.emit("timeout");
  socket.on("drain", drained).on("timeout", stalled);
  latest.once("finish", () => socket.off("drain", drained).off("timeout", stalled));
}

function wait(connection: Connection, response: ServerResponse, run: () => void): void {
  const { socket, waiting } = connection;
  if (waiting.size >= mostWaiting) socket.destroy();
  if (socket.destroyed) return;
  waiting.add(response);
  if (waiting.size >= mostRead) pause(connection);
  // Node.js is still completing the previous response. Requests of other connections also get a turn.
  response.once("socket", () => setImmediate(start, connection, response, run));
}

function start(connection: Connection, response: ServerResponse, run: () => void): void {
  const { socket, waiting } = connection;
  waiting.delete(response);
  if (response === connection.late) socket.destroySoon();
  if (!socket.writable) return;
  connection.running = response;
  run();
  if (connection.isPaused && waiting.size < mostRead) {
    stopPausing(connection);
    socket.resume();
  }
}

function pause(connection: Connection): void {
  if (connection.isPaused) return;
  connection.isPaused = true;
  connection.socket.on("resume", connection.keepPaused).pause();
}

function stopPausing(connection: Connection): void {
  connection.isPaused = false;
  connection.socket.off("resume", connection.keepPaused);
}
