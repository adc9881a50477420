/**
 * Plain HTTP for certificate authorities (RFC 8555, section 8.3). Other requests are sent to the public address.
 */
import { createServer, type Server } from "node:http";
import { defaultStallMs, limitStalls } from "./stalled-responses.ts";

export interface ChallengeListenerOptions {
  readonly publicUrl: string;
  /** @returns undefined for an unknown token */
  readonly keyAuthorization: (token: string) => string | undefined;
}

const challengePath = /^\/\.well-known\/acme-challenge\/([\w-]{1,200})$/;
const requestTimeoutMs = 10_000;
const maxHeaderBytes = 8_192;
const text = { "Content-Type": "text/plain; charset=utf-8" } as const;

export function createChallengeListener({ publicUrl, keyAuthorization }: ChallengeListenerOptions): Server {
  const limits = { requestTimeout: requestTimeoutMs, headersTimeout: requestTimeoutMs, maxHeaderSize: maxHeaderBytes };
  const server = createServer(limits, (request, response) => {
    const { method = "", url = "/" } = request;
    const [, token] = challengePath.exec(url) ?? [];
    const proof = token === undefined ? undefined : keyAuthorization(token);
    if (method !== "GET" && method !== "HEAD") {
      response.writeHead(405, { Allow: "GET, HEAD", Connection: "close" }).end();
    } else if (proof !== undefined) {
      response.writeHead(200, { "Content-Type": "application/octet-stream" }).end(proof);
    } else if (url.startsWith("/.well-known/acme-challenge/") || !url.startsWith("/")) {
      response.writeHead(404, text).end("No order has this token.\n");
    } else {
      // The path follows the origin, so it cannot name another host.
      response.writeHead(308, { Location: `${publicUrl}${url}` }).end();
    }
  });
  return limitStalls(server, defaultStallMs);
}
