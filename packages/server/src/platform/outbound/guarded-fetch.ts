/** Reads a document from a tenant's URL, under the same guard as webhooks. */
import type { Exchange } from "./exchange.ts";
import type { AllowedNetworks } from "./outbound-networks.ts";

/** Longer challenges are ignored, because libraries parse them in quadratic time. */
const maxChallengeLength = 1_024;
const defaultTimeoutMs = 10_000;

export interface GuardedFetchOptions {
  /** The tenant that chose the URL. */
  readonly tenantId: string;
  readonly networks: AllowedNetworks;
  readonly exchange: Exchange;
  /** The time limit for the whole exchange, in milliseconds. */
  readonly timeoutMs?: number;
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

/**
 * Sends a request and returns the whole response, of any status. Follows no redirect, uses no proxy, and always
 * verifies certificates.
 *
 * @throws GuardedFetchError
 */
export async function guardedFetch(
  url: string,
  { method, headers, body }: GuardedFetchRequest,
  { tenantId, networks, exchange, timeoutMs = defaultTimeoutMs }: GuardedFetchOptions,
): Promise<Response> {
  const result = await exchange(
    {
      tenantId,
      url,
      method: method === "POST" ? "POST" : "GET",
      headers: { ...headers, "accept-encoding": "identity" },
      body,
      timeoutMs,
      networks,
      reads: "document",
    },
    new AbortController().signal,
  );
  if (result.kind === "no-address") {
    throw new GuardedFetchError(
      "the host has no address that Gatehouse can connect to, or its name cannot be resolved",
    );
  }
  if (result.kind !== "answered") {
    throw new GuardedFetchError(result.kind === "aborted" ? "the request was aborted" : result.problem);
  }
  const { statusCode: status, content } = result;
  if (status < 200 || status > 599) throw new GuardedFetchError("the response is not HTTP");
  const { "content-type": type, "www-authenticate": challenge = "" } = result.headers;
  const empty = [204, 205, 304].includes(status);
  return new Response(empty ? null : content, {
    status,
    headers: {
      ...(type === undefined ? {} : { "content-type": type }),
      ...(challenge === "" || challenge.length > maxChallengeLength ? {} : { "www-authenticate": challenge }),
    },
  });
}
