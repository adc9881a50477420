/** Reads a document from a tenant's URL, under the same guard as webhooks. */
import { hasMoreValues } from "../json-values.ts";
import { openGuardedRequest, problemOf } from "./guarded-request.ts";
import type { AllowedNetworks } from "./outbound-networks.ts";
import type { ResolveHost } from "./resolve-host.ts";

/** Longer responses are an error. */
const maxResponseBytes = 256 * 1024;
/** The limit with headers and the overhead of TLS and chunks. */
const maxReceivedBytes = 320 * 1024;
/** JSON with more values is an error: parsing and copying them would block all requests. */
const maxValues = 5_000;
/** Longer challenges are ignored, because libraries parse them in quadratic time. */
const maxChallengeLength = 1_024;
const timeoutMs = 10_000;

export interface GuardedFetchOptions {
  /** The tenant that chose the URL. */
  readonly tenantId: string;
  readonly networks: AllowedNetworks;
  /** The time limit for the whole exchange, in milliseconds. */
  readonly timeoutMs?: number;
  /** Defaults to the DNS servers of the system. */
  readonly resolveHost?: ResolveHost;
}

export interface GuardedFetchRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

/** The request failed. The message is shown to the tenant and reveals no internal addresses. */
export class GuardedFetchError extends Error {
  constructor(problem: string) {
    super(problem);
    this.name = "GuardedFetchError";
  }
}

const noAddress = "the host has no address that Gatehouse can connect to, or its name cannot be resolved";

/**
 * Sends a request and returns the whole response, of any status. Follows no redirect, uses no proxy, and always
 * verifies certificates.
 *
 * @throws GuardedFetchError
 */
export function guardedFetch(
  url: string,
  { method, headers, body }: GuardedFetchRequest,
  options: GuardedFetchOptions,
): Promise<Response> {
  const limitMs = options.timeoutMs ?? timeoutMs;
  return new Promise((resolve, reject) => {
    const fail = (problem: string) => {
      clearTimeout(timer);
      reject(new GuardedFetchError(problem));
      outgoing?.destroy();
    };
    const timer = setTimeout(() => fail(`no response within ${limitMs / 1000} seconds`), limitMs);
    let outgoing: ReturnType<typeof openGuardedRequest> | undefined;
    try {
      outgoing = openGuardedRequest({
        tenantId: options.tenantId,
        url: new URL(url),
        method: method === "POST" ? "POST" : "GET",
        headers: { ...headers, "accept-encoding": "identity" },
        bodyBytes: body === undefined ? undefined : Buffer.byteLength(body),
        maxReceivedBytes,
        networks: options.networks,
        resolveHost: options.resolveHost,
      });
    } catch (error) {
      fail(problemOf(error as Error, noAddress)); // a NoAddressError
      return;
    }
    outgoing.on("error", (error) => fail(problemOf(error, noAddress)));
    outgoing.on("close", () => fail("the connection was closed without a response"));
    outgoing.on("response", (incoming) => {
      const chunks: Buffer[] = [];
      let received = 0;
      incoming.on("data", (chunk: Buffer) => {
        received += chunk.length;
        if (received > maxResponseBytes) fail(`the response has more than ${maxResponseBytes / 1024} KiB`);
        else chunks.push(chunk);
      });
      incoming.on("error", (error) => fail(problemOf(error, noAddress)));
      incoming.on("end", () => {
        clearTimeout(timer);
        // The server may never close the connection.
        outgoing.destroy();
        const status = incoming.statusCode ?? 0;
        if (status < 200 || status > 599) return fail("the response is not HTTP");
        const content = Buffer.concat(chunks);
        if (hasMoreValues(content.toString("latin1"), maxValues))
          return fail(`the response has more than ${maxValues} values`);
        const type = incoming.headers["content-type"];
        const empty = [204, 205, 304].includes(status);
        resolve(
          new Response(empty ? null : content, {
            status,
            headers: {
              ...(type === undefined ? {} : { "content-type": type }),
              ...authenticationChallenge(incoming.headers["www-authenticate"]),
            },
          }),
        );
      });
    });
    outgoing.end(body);
  });
}

function authenticationChallenge(header: string | undefined): Readonly<Record<string, string>> {
  return header === undefined || header.length > maxChallengeLength ? {} : { "www-authenticate": header };
}
