/** Headers that decide whether caches and browsers may store and interpret responses, and how browsers connect. */
import { hash } from "node:crypto";
import { isIP } from "node:net";
import type { Operation } from "@gatehouse/contract/operation";
import { componentKeyword } from "@gatehouse/contract/schema";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../platform/app-error.ts";

/** Request headers that select the response of an operation. The tenant is the one of the credential. */
const varyingHeaders = "apikey, Authorization, Cookie, Accept-Encoding";

export interface StrictTransportOptions {
  /** Known when the server listens. */
  readonly publicUrl: () => string;
  /** How long browsers use only TLS for the host, in days; 0 ends it. */
  readonly strictTransportDays: number;
}

/** Rejects ambiguous requests, stops browsers from guessing response types, and enforces TLS (RFC 6797). */
export function guardEveryResponse(app: FastifyInstance, strictTransport: StrictTransportOptions): void {
  let host: { readonly publicUrl: string; readonly name: string | undefined } | undefined;
  const isStrictHost = (hostname: string): boolean => {
    const publicUrl = strictTransport.publicUrl();
    if (host?.publicUrl !== publicUrl) host = { publicUrl, name: strictTransportHost(publicUrl) };
    return hostname.toLowerCase() === host.name;
  };
  const lifetime = `max-age=${strictTransport.strictTransportDays * secondsPerDay}`;
  app.addHook("onRequest", (request, reply, done) => {
    forbidGuessing(reply);
    // Other names of this machine can have services without TLS.
    if (request.protocol === "https" && isStrictHost(request.hostname)) {
      reply.header("strict-transport-security", lifetime);
    }
    requireMatchingHttpVersion(request);
    requireSmallHeaders(request);
    requireOneHost(request);
    requireOneAuthorization(request);
    done();
  });
}

/** Prevents browsers from guessing the type of a response. */
export function forbidGuessing(reply: FastifyReply): void {
  reply.header("x-content-type-options", "nosniff");
}

const secondsPerDay = 24 * 60 * 60;

/**
 * The host that browsers must reach only over TLS. Undefined for `localhost`, and for a public URL with a port other
 * than 443: browsers apply the header to all ports, where other programs may listen without TLS. Undefined also for IP
 * addresses, for which browsers ignore the header.
 */
function strictTransportHost(publicUrl: string): string | undefined {
  const { protocol, hostname, port } = new URL(publicUrl); // the default port is empty
  const isName = isIP(hostname.replaceAll(/[[\]]/g, "")) === 0 && !/(?:^|\.)localhost$/.test(hostname);
  return protocol === "https:" && port === "" && isName ? hostname : undefined;
}

/**
 * Node.js accepts HTTP/2.0 in a request line of HTTP/1.
 *
 * @throws AppError invalid_parameter
 */
function requireMatchingHttpVersion({ raw: { httpVersionMajor, headers } }: FastifyRequest): void {
  if (httpVersionMajor < 2 || headers[":method"] !== undefined) return;
  throw new AppError("invalid_parameter", { detail: "HTTP/2.0 is invalid in an HTTP/1 request line. Send HTTP/1.1." });
}

/** The maximum length of the names and values of all headers, in bytes. The same as that of Node.js for HTTP/1.1. */
const maxHeadersLength = 16_384;

/**
 * Node.js accepts up to 64 KiB over HTTP/2.
 *
 * @throws AppError header_too_large
 */
function requireSmallHeaders({ raw: { httpVersionMajor, rawHeaders } }: FastifyRequest): void {
  if (httpVersionMajor < 2) return;
  let length = 0;
  for (const text of rawHeaders) length += text.length;
  if (length > maxHeadersLength) throw new AppError("header_too_large");
}

/**
 * The server that a request is meant for must be unambiguous (RFC 9112, section 3.2): proxies could read another host.
 *
 * @throws AppError invalid_parameter
 */
function requireOneHost({ raw: { rawHeaders, headers, httpVersion, url = "/" } }: FastifyRequest): void {
  const authority = headers[":authority"]; // HTTP/2
  let hosts = authority === undefined || headers.host === undefined || authority === headers.host ? 0 : 1;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    if (name.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  // Without TLS, Node.js refuses such requests.
  if (hosts === 0 && authority === undefined && httpVersion === "1.1") {
    throw new AppError("invalid_parameter", { detail: "The request has no Host header. Send one." });
  }
  if (hosts > 1) {
    throw new AppError("invalid_parameter", { detail: "The request has several Host headers. Send one." });
  }
  // The host of an absolute target takes precedence over the header (section 3.2.2), so the two must be equal.
  const target = url.startsWith("/") ? undefined : /^https?:\/\/([^/?#]*)/i.exec(url)?.[1];
  if (target !== undefined && target.toLowerCase() !== String(authority ?? headers.host).toLowerCase()) {
    throw new AppError("invalid_parameter", {
      detail: "The request target names another host than the Host header. Send the path alone.",
    });
  }
}

/**
 * Node.js passes the first Authorization header of several, and a proxy may check another.
 *
 * @throws AppError invalid_parameter
 */
function requireOneAuthorization({ raw: { rawHeaders, headers } }: FastifyRequest): void {
  if (headers.authorization === undefined) return;
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    if (name.length === 13 && name.toLowerCase() === "authorization") count += 1;
  }
  if (count <= 1) return;
  throw new AppError("invalid_parameter", { detail: "The request has several Authorization headers. Send one." });
}

/** Headers of every response of an operation, including errors. Reads replace Cache-Control; see `cacheControlOf`. */
export const operationHeaders = { "cache-control": "no-store", vary: varyingHeaders } as const;

/**
 * Returns how a successful response to the operation may be stored: by the client that reads it, if it checks before
 * each use; nowhere if it changes data or contains a secret.
 *
 * @returns a function of whether the caller sees gateway tokens
 */
export function cacheControlOf({ method, success }: Operation): (seesTokens: boolean) => string {
  const isRead = method === "GET" && success.kind !== "stream";
  const hasTokens = isRead && containsComponent(success, "Gateway");
  return (seesTokens) => (isRead && !(hasTokens && seesTokens) ? "private, no-cache" : "no-store");
}

function containsComponent(value: unknown, name: string): boolean {
  if (value === null || typeof value !== "object") return false;
  if ((value as Readonly<Record<string, unknown>>)[componentKeyword] === name) return true;
  return Object.values(value).some((part) => containsComponent(part, name));
}

/** The ETag of a response that has no version. It is weak, so that `If-Match` never matches it. */
export function contentTag(text: string | Buffer): string {
  return tagOfHash(hash("sha256", text, "base64url"));
}

/** @param digest the SHA-256 hash of the content in base64url */
export function tagOfHash(digest: string): string {
  return `W/"${digest.slice(0, 27)}"`;
}

/**
 * Whether `If-None-Match` lists a tag (RFC 9110, section 13.1.2). Compares weakly. `*` matches every list.
 *
 * @param header the header as received
 */
export function hasTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  const opaque = tag.replace(/^W\//, "");
  return header.split(",").some((listed) => {
    const candidate = listed.trim();
    return candidate === "*" || candidate.replace(/^W\//, "") === opaque;
  });
}
