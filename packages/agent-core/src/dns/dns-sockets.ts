/** Listens for DNS questions over UDP and TCP. The caller provides the answers. */
import { createSocket, type RemoteInfo, type Socket as UdpSocket } from "node:dgram";
import { createServer, isIP, type Server, type Socket } from "node:net";
import type { Log } from "../log.ts";
import { longestQuestionBytes } from "./dns-message.ts";

/** The most TCP connections of one address to listen on. */
const mostTcpConnections = 128;
const tcpIdleMs = 10_000;
/** A TCP connection is not read further while so many bytes wait. */
const bufferedBytes = 16_384;

/**
 * Answers one question.
 *
 * @param from the source address
 * @returns the answer; undefined: none is sent
 */
export type AnswerBytes = (question: Buffer, from: string, over: "udp" | "tcp") => Promise<Buffer | undefined>;

export class DnsSockets {
  readonly #answer: AnswerBytes;
  readonly #log: Log;
  readonly #mostPerSource: number;
  /** The number of TCP connections by source address. */
  readonly #connections = new Map<string, number>();
  #close: (() => void)[] = [];

  /** @param mostPerSource the most TCP connections of one source address; further ones are closed at once */
  constructor(answer: AnswerBytes, log: Log, mostPerSource = mostTcpConnections) {
    this.#answer = answer;
    this.#log = log;
    this.#mostPerSource = mostPerSource;
  }

  /** @throws Error if the address or port cannot be used. Nothing is left open, and the call can be repeated */
  async listen(address: string, port: number): Promise<void> {
    const udp = createSocket({ type: isIP(address) === 6 ? "udp6" : "udp4", ipv6Only: isIP(address) === 6 });
    const tcp = createServer({ allowHalfOpen: true, highWaterMark: bufferedBytes }, (socket) => this.#serveTcp(socket));
    tcp.maxConnections = mostTcpConnections;
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
    udp.on("error", (err) => this.#log("DNS socket failed", { address, err }));
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
      return await this.#answer(question, from, over);
    } catch (err) {
      this.#log("failed to answer a DNS question", { err });
      return undefined;
    }
  }

  /** Counts a connection until it closes. Returns whether its source may have another one. */
  #admit(socket: Socket, source: string): boolean {
    const connections = (this.#connections.get(source) ?? 0) + 1;
    if (connections > this.#mostPerSource) return false;
    this.#connections.set(source, connections);
    socket.once("close", () => {
      const left = (this.#connections.get(source) ?? 1) - 1;
      if (left === 0) this.#connections.delete(source);
      else this.#connections.set(source, left);
    });
    return true;
  }

  #serveTcp(socket: Socket): void {
    const source = socket.remoteAddress ?? "";
    /** The declared length of the question that is being received. */
    let length: number | undefined;
    let isAnswering = false;
    socket.on("error", () => socket.destroy());
    if (!this.#admit(socket, source)) {
      socket.destroy();
      return;
    }
    socket.setTimeout(tcpIdleMs, () => socket.destroy());
    // One question at a time: the next one is read after this answer is sent. Later ones wait in the socket's buffer,
    // which stops reading when it is full.
    const next = () => {
      if (isAnswering || socket.destroyed) return;
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
      isAnswering = true;
      void this.#answerOrLog(question, source, "tcp").then((bytes) => {
        if (bytes === undefined) {
          socket.destroy();
          return;
        }
        socket.write(Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes]), () => {
          // Neither a cached answer nor a write to an empty buffer returns to the event loop.
          setImmediate(() => {
            isAnswering = false;
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
