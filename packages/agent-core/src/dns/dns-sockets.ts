/** Listens for DNS questions over UDP and TCP. The caller provides the answers. */
import { createSocket, type RemoteInfo, type Socket as UdpSocket } from "node:dgram";
import { createServer, isIP, type Server, type Socket } from "node:net";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { longestQuestionBytes } from "./dns-message.ts";
import { TcpConnections } from "./tcp-connections.ts";

/** The most TCP connections on all addresses. */
const mostConnections = 256;
/** The time for a whole question: until it has arrived, and until its answer has been sent. */
const questionMs = 10_000;
/** A TCP connection is not read further while so many bytes wait. */
const bufferedBytes = 16_384;

/**
 * Answers one question.
 *
 * @param from the source address
 * @returns the answer; undefined: none is sent
 */
export type AnswerBytes = (question: Buffer, from: string, over: "udp" | "tcp") => Promise<Buffer | undefined>;

interface DnsSocketsParts {
  readonly answer: AnswerBytes;
  /**
   * Returns the client with a source address. A client can have several addresses.
   *
   * @returns undefined if connections from the address are refused
   */
  readonly clientOf?: (from: string) => string | undefined;
  /** The most TCP connections of one client. */
  readonly mostPerClient?: number;
  readonly clock: Clock;
  readonly log: Log;
}

export class DnsSockets {
  readonly #parts: DnsSocketsParts;
  readonly #connections: TcpConnections;
  #close: (() => void)[] = [];

  constructor(parts: DnsSocketsParts) {
    this.#parts = parts;
    this.#connections = new TcpConnections(mostConnections, parts.mostPerClient);
  }

  /** @throws Error if the address or port cannot be used. Nothing is left open, and the call can be repeated */
  async listen(address: string, port: number): Promise<void> {
    const udp = createSocket({ type: isIP(address) === 6 ? "udp6" : "udp4", ipv6Only: isIP(address) === 6 });
    const tcp = createServer({ allowHalfOpen: true, highWaterMark: bufferedBytes }, (socket) => this.#serveTcp(socket));
    const closings = [() => udp.close(), () => tcp.close()];
    udp.on("message", (question, from) => void this.#serveUdp(udp, question, from));
    try {
      await new Promise<void>((resolve, reject) => {
        udp.once("error", reject);
        udp.bind(port, address, resolve);
      });
      await listening(tcp, port, address);
    } catch (error) {
      closeAll(closings);
      throw error;
    }
    this.#close.push(...closings);
    udp.on("error", (err) => this.#parts.log("DNS socket failed", { address, err }));
  }

  close(): void {
    closeAll(this.#close.splice(0));
  }

  async #serveUdp(socket: UdpSocket, question: Buffer, from: RemoteInfo): Promise<void> {
    if (question.length > longestQuestionBytes) return;
    const bytes = await this.#answerOrLog(question, from.address, "udp");
    if (bytes === undefined) return;
    // Another configuration may have closed the socket in the meantime.
    try {
      socket.send(bytes, from.port, from.address, () => {});
    } catch {}
  }

  /** A rejection that nothing handles would end the agent, so it is only logged. */
  async #answerOrLog(...[question, from, over]: Parameters<AnswerBytes>): Promise<Buffer | undefined> {
    try {
      return await this.#parts.answer(question, from, over);
    } catch (err) {
      this.#parts.log("failed to answer a DNS question", { err });
      return undefined;
    }
  }

  #serveTcp(socket: Socket): void {
    const source = socket.remoteAddress ?? "";
    const { clientOf = () => "", clock } = this.#parts;
    const client = clientOf(source);
    /** The declared length of the question that is being received. */
    let length: number | undefined;
    socket.on("error", () => socket.destroy());
    if (client === undefined) {
      socket.destroy();
      return;
    }
    const connection = { isAnswering: false, end: () => socket.destroy() };
    const removed = this.#connections.add(client, connection);
    // An idle timeout would let a client hold a connection by sending a byte from time to time.
    let cancelTimer = clock.after(questionMs, connection.end);
    socket.once("close", () => {
      cancelTimer();
      removed();
    });
    // One question at a time: the next one is read after this answer is sent. Later ones wait in the socket's buffer,
    // which stops reading when it is full.
    const next = () => {
      if (connection.isAnswering || socket.destroyed) return;
      length ??= readBytes(socket, 2)?.readUInt16BE(0);
      if (length === 0 || (length !== undefined && length > longestQuestionBytes)) {
        socket.destroy();
        return;
      }
      const question = length === undefined ? undefined : readBytes(socket, length);
      if (question === undefined) {
        // The client ended its side of the connection and has all its answers.
        if (socket.readableEnded) socket.end();
        return;
      }
      length = undefined;
      connection.isAnswering = true;
      void this.#answerOrLog(question, source, "tcp").then((bytes) => {
        if (bytes === undefined) {
          socket.destroy();
          return;
        }
        socket.write(Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes]), () => {
          // Neither a cached answer nor a write to an empty buffer returns to the event loop.
          setImmediate(() => {
            if (socket.destroyed) return;
            cancelTimer();
            cancelTimer = clock.after(questionMs, connection.end);
            connection.isAnswering = false;
            next();
          });
        });
      });
    };
    socket.on("readable", next);
    socket.on("end", next);
  }
}

/** @returns undefined if so many bytes have not arrived */
function readBytes(socket: Socket, count: number): Buffer | undefined {
  const bytes: Buffer | null = socket.read(count);
  // After the end of the stream, `read` returns the rest even if it is shorter.
  return bytes?.length === count ? bytes : undefined;
}

function closeAll(closings: readonly (() => void)[]): void {
  for (const close of closings) {
    try {
      close();
    } catch {
      // The socket never listened.
    }
  }
}

function listening(server: Server, port: number, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host: address, ipv6Only: isIP(address) === 6 }, () => {
      server.off("error", reject);
      server.on("error", () => {});
      resolve();
    });
  });
}
