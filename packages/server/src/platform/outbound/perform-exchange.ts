import type { ClientRequest, IncomingMessage } from "node:http";
import { hasMoreValues } from "../json-values.ts";
import type { ExchangeAnswer, ExchangeResult, PassedRequest } from "./exchange.ts";
import { NoAddressError, openGuardedRequest, problemOf } from "./guarded-request.ts";
import type { ResolveHost } from "./resolve-host.ts";

/**
 * The bytes that are read. The limit of content is lower than that of everything received: headers, and the overhead of
 * TLS and chunks. If only the status is needed, up to 4 KiB of content is still read, so that the sender can finish.
 */
const limits = {
  status: { content: 4 * 1024, received: 64 * 1024 },
  document: { content: 256 * 1024, received: 320 * 1024 },
} as const;
/** JSON with more values is an error: parsing and copying them would block all requests. */
const maxValues = 5_000;

/**
 * Sends a request and returns the result. Never throws, follows no redirect, uses no proxy, and always verifies
 * certificates. The name is resolved once, and connections go only to allowed addresses of that resolution, which
 * defeats DNS rebinding.
 *
 * @param resolveHost defaults to the DNS servers of the system
 */
export function performExchange(
  request: PassedRequest,
  signal: AbortSignal,
  resolveHost?: ResolveHost,
): Promise<ExchangeResult> {
  const { body, reads, timeoutMs } = request;
  const { content: maxContentBytes, received: maxReceivedBytes } = limits[reads];
  const aborted = { kind: "aborted" } as const;
  if (signal.aborted) return Promise.resolve(aborted);
  return new Promise((resolve) => {
    let outgoing: ClientRequest | undefined;
    /** The answer whose content does not matter. */
    let decided: ExchangeAnswer | undefined;
    const finish = (result: ExchangeResult) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      // The server may never close the connection.
      outgoing?.destroy();
      resolve(decided ?? result);
    };
    const failed = (problem: string) => finish({ kind: "failed", problem });
    const broken = (error: Error) =>
      error instanceof NoAddressError ? finish({ kind: "no-address" }) : failed(problemOf(error));
    const abort = () => finish(aborted);
    const timer = setTimeout(() => failed(`no response within ${timeoutMs / 1000} seconds`), timeoutMs);
    signal.addEventListener("abort", abort);
    try {
      outgoing = openGuardedRequest({
        ...request,
        url: new URL(request.url),
        bodyBytes: body === undefined ? undefined : Buffer.byteLength(body),
        maxReceivedBytes,
        resolveHost,
      });
    } catch (error) {
      broken(error as Error); // no allowed address, or a header that Node.js refuses
      return;
    }
    outgoing.on("error", broken);
    outgoing.on("close", () => failed("the connection was closed without a response"));
    outgoing.on("response", (response) => {
      if (reads === "status") decided = answerOf(response);
      const chunks: Buffer[] = [];
      let received = 0;
      response.on("data", (chunk: Buffer) => {
        received += chunk.length;
        if (received > maxContentBytes) failed(`the response is larger than ${maxContentBytes / 1024} KiB`);
        else if (reads === "document") chunks.push(chunk);
      });
      response.on("error", broken);
      response.on("end", () => {
        const content = Buffer.concat(chunks);
        if (hasMoreValues(content.toString("latin1"), maxValues)) {
          failed(`the response has more than ${maxValues} JSON values`);
        } else finish(answerOf(response, content));
      });
    });
    outgoing.end(body);
  });
}

function answerOf(
  { statusCode = 0, headers }: IncomingMessage,
  content: Uint8Array = new Uint8Array(),
): ExchangeAnswer {
  return {
    kind: "answered",
    statusCode,
    headers: {
      "content-type": headers["content-type"],
      "retry-after": headers["retry-after"],
      "www-authenticate": headers["www-authenticate"],
    },
    // A copy with memory of its own. Another thread would otherwise receive all that shares the memory.
    content: new Uint8Array(content),
  };
}
