/** Listens for DNS over UDP and TCP; what is answered, others say. */
import { createSocket, type RemoteInfo, type Socket as UdpSocket } from "node:dgram";
import { createServer, isIP, type Server, type Socket } from "node:net";
import type { Log } from "../log.ts";

const mostTcpConnections = 128;
const tcpIdleMs = 10_000;
const longestQuestionBytes = 4096;

/**
 * Answers one question. Never rejects.
 *
 * @param from the address that it came from
 * @returns the bytes of the answer; undefined where none is given
 */
export type AnswerBytes = (question: Buffer, from: string, over: "udp" | "tcp") => Promise<Buffer | undefined>;

export class DnsSockets {
  readonly #answer: AnswerBytes;
  readonly #log: Log;
  #close: (() => void)[] = [];

  constructor(answer: AnswerBytes, log: Log) {
    this.#answer = answer;
    this.#log = log;
  }

  /** @throws Error where the address or the port cannot be taken; then nothing listens there, and it can be tried again */
  async listen(address: string, port: number): Promise<void> {
    const udp = createSocket({ type: isIP(address) === 6 ? "udp6" : "udp4", ipv6Only: isIP(address) === 6 });
    const tcp = createServer((socket) => this.#serveTcp(socket));
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
    udp.on("error", (error) => this.#log(`DNS on ${address}: ${error.message}`));
  }

  close(): void {
    closeAll(this.#close.splice(0));
  }

  async #serveUdp(socket: UdpSocket, question: Buffer, from: RemoteInfo): Promise<void> {
    const bytes = await this.#answer(question, from.address, "udp");
    if (bytes === undefined) return;
    // The socket may be closed by now, where another configuration came meanwhile.
    try {
      socket.send(bytes, from.port, from.address, () => {});
    } catch {}
  }

  #serveTcp(socket: Socket): void {
    let received: Buffer = Buffer.alloc(0);
    socket.setTimeout(tcpIdleMs, () => socket.destroy());
    socket.on("error", () => socket.destroy());
    socket.on("data", (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (received.length > longestQuestionBytes) {
        socket.destroy();
        return;
      }
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
      const question = received.subarray(2, 2 + received.readUInt16BE(0));
      received = Buffer.alloc(0);
      // One question at a time: the next is read when this one is answered.
      socket.pause();
      void this.#answer(question, socket.remoteAddress ?? "", "tcp").then((bytes) => {
        if (bytes === undefined) {
          socket.destroy();
          return;
        }
        socket.write(Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes]));
        socket.resume();
      });
    });
  }
}

function closeAll(closings: readonly (() => void)[]): void {
  for (const close of closings) {
    try {
      close();
    } catch {
      // One that never listened.
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
