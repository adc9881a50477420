/** Requests to URLs of tenants: only to allowed addresses, with verified certificates, without redirects or proxies. */
import { type LookupAddress, lookup } from "node:dns";
import { type ClientRequest, request as requestPlain } from "node:http";
import { request as requestSecure } from "node:https";
import type { LookupFunction } from "node:net";
import { type AllowedNetworks, literalAddress, mayConnect } from "./outbound-networks.ts";

/** Resolves a host name to all of its addresses. */
export type ResolveHost = (hostname: string) => Promise<readonly LookupAddress[]>;

export interface GuardedRequest {
  readonly url: URL;
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  /** The length of the body in bytes; undefined for a request without a body. */
  readonly bodyBytes: number | undefined;
  readonly networks: AllowedNetworks;
  /** Defaults to the system's resolver. */
  readonly resolveHost?: ResolveHost | undefined;
}

/** The URL leads only to addresses that requests of tenants cannot go to. */
export class ForbiddenAddressError extends Error {}

/**
 * Opens a request. The name is resolved once, and connections go only to allowed addresses of that resolution, which
 * defeats DNS rebinding.
 *
 * @throws ForbiddenAddressError at a literal address; for a name, the request emits the error
 */
export function openGuardedRequest(request: GuardedRequest): ClientRequest {
  const { url, method, headers, bodyBytes, resolveHost = systemLookup, networks } = request;
  const secure = url.protocol === "https:";
  const literal = literalAddress(url);
  if (literal !== undefined && !mayConnect(literal, secure, networks)) throw new ForbiddenAddressError();
  const allowed = async (hostname: string) => {
    const addresses = await resolveHost(hostname);
    const usable = addresses.filter(({ address }) => mayConnect(address, secure, networks));
    if (usable.length === 0) throw new ForbiddenAddressError();
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
  const length = bodyBytes === undefined ? {} : { "content-length": String(bodyBytes) };
  const options = {
    method,
    headers: { ...headers, ...length, connection: "close" },
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
export function problemOf(error: Error, forbidden: string): string {
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
