import { constants } from "node:crypto";
import type { LookupAddress } from "node:dns";
import { type ClientRequest, request as requestPlain } from "node:http";
import { request as requestSecure } from "node:https";
import { connect, type LookupFunction } from "node:net";
import { connect as connectTls, createSecureContext, type SecureContext } from "node:tls";
import { tlsLimits } from "../tls-limits.ts";
import { BoundedConnection, TooManyBytesError } from "./bounded-connection.ts";
import { HandshakePace } from "./handshake-pace.ts";
import { type AllowedNetworks, literalAddress, mayConnect } from "./outbound-networks.ts";
import { hostResolver, type ResolveHost } from "./resolve-host.ts";

/** More interim responses are an error. Servers send one or two. */
const maxInterimResponses = 8;

export interface GuardedRequest {
  /** The tenant that chose the URL. */
  readonly tenantId: string;
  readonly url: URL;
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  /** The length of the body in bytes; undefined for a request without a body. */
  readonly bodyBytes: number | undefined;
  /** The bytes that the server can send after the TLS handshake, with everything around the content. */
  readonly maxReceivedBytes: number;
  readonly networks: AllowedNetworks;
  /** Defaults to the DNS servers of the system. */
  readonly resolveHost?: ResolveHost | undefined;
}

/** The URL leads only to addresses that are not allowed, or its name cannot be resolved. */
export class NoAddressError extends Error {}

/**
 * Opens a request. The name is resolved once, and connections go only to allowed addresses of that resolution, which
 * defeats DNS rebinding. The lookup ends with the request.
 *
 * @throws NoAddressError at a literal address that is not allowed; for a name, the request emits the error
 * @throws TypeError at a scheme or header that Node.js refuses
 */
export function openGuardedRequest(request: GuardedRequest): ClientRequest {
  const { url, method, headers, bodyBytes, networks } = request;
  const secure = url.protocol === "https:";
  const literal = literalAddress(url);
  if (literal !== undefined && !mayConnect(literal, secure, networks)) throw new NoAddressError();
  const ended = new AbortController();
  const length = bodyBytes === undefined ? {} : { "content-length": String(bodyBytes) };
  // Every request has its own connection, because a reused one was checked against an old resolution.
  const options = {
    method,
    headers: { ...headers, ...length, connection: "close" },
    createConnection: () => openConnection(request, ended.signal),
  };
  const outgoing = secure ? requestSecure(url, options) : requestPlain(url, options);
  let interimResponses = 0;
  outgoing.on("information", () => {
    interimResponses += 1;
    if (interimResponses > maxInterimResponses) outgoing.destroy(new TooManyBytesError());
  });
  outgoing.on("close", () => ended.abort());
  return outgoing;
}

function openConnection(request: GuardedRequest, signal: AbortSignal) {
  const { tenantId, url, maxReceivedBytes } = request;
  const secure = url.protocol === "https:";
  const literal = literalAddress(url);
  const host = literal ?? url.hostname;
  const port = url.port === "" ? (secure ? 443 : 80) : Number(url.port);
  const socket = connect({ host, port, lookup: allowedLookup(request, signal) });
  if (!secure) return new BoundedConnection(socket, { maxBytes: maxReceivedBytes });
  const connection = new BoundedConnection(socket, { tenantId, pace });
  const encrypted = connectTls({
    socket: connection,
    host,
    servername: literal === undefined ? host : "",
    secureContext: contextOfRequests(),
    // Set explicitly, so that NODE_TLS_REJECT_UNAUTHORIZED cannot disable it.
    rejectUnauthorized: true,
  });
  connection.on("error", (error) => encrypted.destroy(error));
  encrypted.on("secureConnect", () => connection.endHandshake(maxReceivedBytes));
  encrypted.on("close", () => connection.destroy());
  return encrypted;
}

function allowedLookup(request: GuardedRequest, signal: AbortSignal): LookupFunction {
  const { url, networks, resolveHost = systemResolver } = request;
  const allowed = async (hostname: string): Promise<LookupAddress[]> => {
    const addresses = await resolveHost(hostname, signal).catch(() => []);
    const usable = addresses.filter(({ address }) => mayConnect(address, url.protocol === "https:", networks));
    if (usable.length === 0) throw new NoAddressError();
    return usable;
  };
  return (hostname, options, callback) => {
    allowed(hostname).then(
      (usable) => {
        const [first] = usable;
        if (options.all === true) callback(null, usable);
        else callback(null, first?.address ?? "", first?.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, "", 0),
    );
  };
}

const systemResolver = hostResolver();
/** One for all requests, because they share the event loop of their thread. */
const pace = new HandshakePace();

let sharedContext: SecureContext | undefined;

/** Made for the first request, because it loads the trusted certificates. */
function contextOfRequests(): SecureContext {
  // A server with a valid certificate could otherwise send a second chain after the first handshake.
  sharedContext ??= createSecureContext({ ...tlsLimits, secureOptions: constants.SSL_OP_NO_RENEGOTIATION });
  return sharedContext;
}

/** Describes an error from a table, because error messages contain addresses. */
export function problemOf(error: Error): string {
  if (error instanceof TooManyBytesError) return "the server sent more bytes than Gatehouse accepts";
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
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was closed without a response",
  EPIPE: "the connection was closed without a response",
  ETIMEDOUT: "the connection timed out",
  EHOSTUNREACH: "the host is unreachable",
  ENETUNREACH: "the host is unreachable",
};
