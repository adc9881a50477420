/**
 * Receives webhooks on loopback, stores them, and answers as the test requires: correctly, late, incorrectly, or not at
 * all.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface ReceivedMessage {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type Answer = (response: ServerResponse, request: IncomingMessage) => void;

/** Answers with only a status and headers. */
export function answering(status: number, headers: Readonly<Record<string, string>> = {}): Answer {
  return (response) => response.writeHead(status, headers).end();
}

export class WebhookReceiver {
  readonly received: ReceivedMessage[] = [];
  /** The answer to messages from now on. */
  answer: Answer = answering(204);
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => this.#take(request, response));
  }

  static async start(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
    receiver.#server.listen(0, "127.0.0.1");
    await once(receiver.#server, "listening");
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port; // of a server that listens on TCP
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/hook`;
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method = "", url: path = "" } = request;
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      this.received.push({ method, path, headers, body: Buffer.concat(chunks).toString("utf8") });
      this.answer(response, request);
    });
  }
}
