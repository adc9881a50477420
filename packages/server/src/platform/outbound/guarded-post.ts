/** Sends a request to a tenant's URL without trusting the URL, its name or its server. */
import { type LookupAddress, lookup } from "node:dns";
import { type ClientRequest, request as requestPlain } from "node:http";
import { request as requestSecure } from "node:https";
import type { LookupFunction } from "node:net";
import type { Clock } from "../clock.ts";
import { type AllowedNetworks, literalAddress, mayConnect } from "./outbound-networks.ts";

/** The bytes of a response body that are read before the connection is closed. */
const maxResponseBytes = 4096;

/** Resolves a host name to all of its addresses. */
export type ResolveHost = (hostname: string) => Promise<readonly LookupAddress[]>;

export interface GuardedPost {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The time limit for name resolution, connection, request and response together, in milliseconds. */
  readonly timeoutMs: number;
  readonly networks: AllowedNetworks;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Defaults to the system's resolver. */
  readonly resolveHost?: ResolveHost;
}

export type PostOutcome = { readonly durationMs: number } & (
  | {
      readonly kind: "answered";
      readonly statusCode: number;
      /** The header Retry-After as received. */
      readonly retryAfter: string | undefined;
    }
  /** `problem` is shown to the tenant and reveals no internal addresses. */
  | { readonly kind: "failed"; readonly problem: string }
  /** The signal aborted the request; it is unknown whether it arrived. */
  | { readonly kind: "aborted" }
);

type Ending =
  | { readonly kind: "answered"; readonly statusCode: number; readonly retryAfter: string | undefined }
  | { readonly kind: "failed"; readonly problem: string }
  | { readonly kind: "aborted" };

class ForbiddenAddressError extends Error {}

const forbidden = "the host has no address that webhooks can be sent to";

/**
 * Posts and returns the outcome. Never throws, follows no redirect, uses no proxy, and always verifies certificates.
 * The name is resolved once, and connections go only to allowed addresses of that resolution, which defeats DNS
 * rebinding.
 */
export async function guardedPost(post: GuardedPost): Promise<PostOutcome> {
  const startedAt = post.clock.elapsedMs();
  const ending = await send(post);
  return { ...ending, durationMs: Math.max(0, Math.round(post.clock.elapsedMs() - startedAt)) };
}

function send(post: GuardedPost): Promise<Ending> {
  const { url, networks, signal } = post;
  const secure = url.protocol === "https:";
  const literal = literalAddress(url);
  if (literal !== undefined && !mayConnect(literal, secure, networks)) {
    return Promise.resolve({ kind: "failed", problem: forbidden });
  }
  if (signal.aborted) return Promise.resolve({ kind: "aborted" });
  return new Promise((resolve) => {
    const outgoing = openRequest(post, secure);
    let answer: Ending | undefined;
    const finish = (ending: Ending) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      outgoing.destroy();
      // After the status has arrived, the outcome is decided, regardless of the body.
      resolve(answer ?? ending);
    };
    const abort = () => finish({ kind: "aborted" });
    const timer = setTimeout(
      () => finish({ kind: "failed", problem: `no response within ${post.timeoutMs / 1000} seconds` }),
      post.timeoutMs,
    );
    signal.addEventListener("abort", abort);
    outgoing.on("error", (error) => finish({ kind: "failed", problem: problemOf(error) }));
    outgoing.on("close", () => finish({ kind: "failed", problem: "the connection was closed without a response" }));
    outgoing.on("response", (response) => {
      answer = {
        kind: "answered",
        statusCode: response.statusCode ?? 0,
        retryAfter: response.headers["retry-after"],
      };
      const ending = answer;
      let received = 0;
      response.on("data", (chunk: Buffer) => {
        received += chunk.length;
        if (received >= maxResponseBytes) finish(ending);
      });
      response.on("end", () => finish(ending));
      response.on("error", () => finish(ending));
    });
    outgoing.end(post.body);
  });
}

function openRequest(post: GuardedPost, secure: boolean): ClientRequest {
  const { url, headers, body, resolveHost = systemLookup, networks } = post;
  const allowed = async (hostname: string) => {
    const addresses = await resolveHost(hostname);
    const usable = addresses.filter(({ address }) => mayConnect(address, secure, networks));
    if (usable.length === 0) throw new ForbiddenAddressError(forbidden);
    return usable;
  };
  const lookupAllowed: LookupFunction = (hostname, options, callback) => {
    allowed(hostname).then(
      (usable) => {
        const [first] = usable;
        if (options.all === true) callback(null, [...usable]);
        else callback(null, first?.address ?? "", first?.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, "", 0),
    );
  };
  const options = {
    method: "POST",
    headers: { ...headers, "content-length": String(Buffer.byteLength(body)), connection: "close" },
    lookup: lookupAllowed,
    // Every request has its own connection, because a reused one was checked against an old resolution.
    agent: false,
  } as const;
  // Set explicitly, so that NODE_TLS_REJECT_UNAUTHORIZED cannot disable it.
  return secure ? requestSecure(url, { ...options, rejectUnauthorized: true }) : requestPlain(url, options);
}

const systemLookup: ResolveHost = (hostname) =>
  new Promise((resolve, reject) => {
    lookup(hostname, { all: true }, (error, addresses) => (error === null ? resolve(addresses) : reject(error)));
  });

/** Describes an error from a table, because error messages contain addresses. */
function problemOf(error: Error): string {
  if (error instanceof ForbiddenAddressError) return forbidden;
  const { code = "" }: NodeJS.ErrnoException = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const known = problems[code];
  if (known !== undefined) return known;
  if (/^(CERT_|ERR_TLS_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|ERR_SSL|EPROTO)/.test(code)) {
    return `the TLS connection failed (${code})`;
  }
  if (code.startsWith("HPE_")) return `the response is not HTTP (${code})`;
  return code === "" ? "the connection failed" : `the connection failed (${code})`;
}

const problems: Readonly<Record<string, string>> = {
  ENOTFOUND: "the host name cannot be resolved",
  EAI_AGAIN: "the host name cannot be resolved at the moment",
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was closed without a response",
  EPIPE: "the connection was closed without a response",
  ETIMEDOUT: "the connection timed out",
  EHOSTUNREACH: "the host is unreachable",
  ENETUNREACH: "the host is unreachable",
};
