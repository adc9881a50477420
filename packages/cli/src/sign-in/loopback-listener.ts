/** Receives the browser on the loopback address after the person has answered (RFC 8252, section 7.3). */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

const path = "/callback";

export class LoopbackListener {
  readonly #server: Server;
  readonly redirectUri: string;
  readonly #answered: Promise<URL>;

  private constructor(server: Server, redirectUri: string, answered: Promise<URL>) {
    this.#server = server;
    this.redirectUri = redirectUri;
    this.#answered = answered;
  }

  /** @param state requests with another state are not the answer, and do not end the wait */
  static async open(state: string): Promise<LoopbackListener> {
    const server = createServer({ keepAliveTimeout: 1 });
    server.listen({ host: "127.0.0.1", port: 0, exclusive: true });
    await once(server, "listening");
    const { port } = server.address() as AddressInfo; // a TCP server
    const redirectUri = `http://127.0.0.1:${port}${path}`;
    const answered = new Promise<URL>((resolve) => {
      server.on("request", (request, response) => {
        const url = answerOf(request, redirectUri, state);
        respond(response, url);
        if (url !== undefined) resolve(url);
      });
    });
    return new LoopbackListener(server, redirectUri, answered);
  }

  /** The address with the answer. */
  async answer(signal: AbortSignal): Promise<URL> {
    signal.throwIfAborted();
    const aborted = new Promise<never>((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    });
    return Promise.race([this.#answered, aborted]);
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeIdleConnections();
    await once(this.#server, "close");
  }
}

/** @returns undefined for a request that is not the answer: any page can send requests to this address */
function answerOf({ method, url, headers }: IncomingMessage, redirectUri: string, state: string): URL | undefined {
  const expected = new URL(redirectUri);
  if (method !== "GET" || headers.host !== expected.host) return undefined;
  if (url === undefined || url.length > 2_000 || !URL.canParse(url, redirectUri)) return undefined;
  const found = new URL(url, redirectUri);
  const isAnswer = found.origin === expected.origin && found.pathname === path;
  return isAnswer && found.searchParams.get("state") === state ? found : undefined;
}

function respond(response: ServerResponse, answer: URL | undefined): void {
  const [status, title, text] =
    answer === undefined
      ? [404, "Not found", "This is not the answer to a sign-in."]
      : answer.searchParams.has("code")
        ? [200, "Signed in", "You can close this window and return to the terminal."]
        : [200, "Not signed in", "You refused the request. You can close this window."];
  response.writeHead(status, {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    Connection: "close",
  });
  response.end(
    `<!doctype html><html lang="en"><head><title>${title}: Gatehouse</title></head><body><h1>${title}</h1><p>${text}</p></body></html>`,
  );
}
