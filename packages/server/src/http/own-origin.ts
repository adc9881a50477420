/**
 * Protects against cross-site request forgery: a request with a session cookie must come from a page of this server.
 * SameSite=Strict keeps the cookie from other sites. This check also rejects other hosts of the same site, and browsers
 * without SameSite.
 */
import type { FastifyRequest } from "fastify";
import { AppError } from "../platform/app-error.ts";

declare module "fastify" {
  interface FastifyInstance {
    /** The public address. Known when the server listens. */
    publicUrl: () => string;
  }
}

const reads = ["GET", "HEAD"];

/** @throws AppError foreign_origin */
export function requireOwnOrigin(request: FastifyRequest): void {
  if (!isOwn(request)) throw new AppError("foreign_origin");
}

function isOwn({ method, host, headers, protocol, server }: FastifyRequest): boolean {
  const isRead = reads.includes(method);
  const site = headers["sec-fetch-site"];
  // "none" is an address that the user entered. That is safe for reads, and never a write.
  if (site !== undefined) return site === "same-origin" || (isRead && site === "none");
  const { origin } = headers;
  // Browsers omit both headers for reads over plain HTTP, but always send Origin for writes.
  if (origin === undefined) return isRead;
  if (!URL.canParse(origin)) return false;
  const page = new URL(origin);
  const publicUrl = new URL(server.publicUrl());
  // Other programs of the host can serve pages without TLS, and anybody on the path can change such pages.
  const needsTls = protocol === "https" || (publicUrl.host === page.host && publicUrl.protocol === "https:");
  return page.host === host.toLowerCase() && (page.protocol === "https:" || !needsTls);
}

/**
 * Whether a page of this server, or the person, opened the address: the person typed it, or chose it outside of other
 * pages. Without the header, another site may have opened it.
 */
export function isOpenedHere({ headers }: FastifyRequest): boolean {
  return headers["sec-fetch-site"] === "same-origin" || headers["sec-fetch-site"] === "none";
}

/** Hosts that browsers treat as secure over plain HTTP (Secure Contexts, section 3.1). */
const localHost = /^(?:(?:[^:]*\.)?localhost|127\.[\d.]+|\[::1\])(?::\d+)?$/i;

/**
 * Whether the browser loaded the page over TLS, according to a trusted proxy or to the browser. Browsers send
 * `Sec-Fetch-Site` only over TLS and to local hosts.
 */
export function isOverTls({ protocol, host, headers }: FastifyRequest): boolean {
  if (protocol === "https" || headers.origin?.startsWith("https://") === true) return true;
  return headers["sec-fetch-site"] !== undefined && headers.origin === undefined && !localHost.test(host);
}
