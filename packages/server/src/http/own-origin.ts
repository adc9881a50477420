/**
 * Cross-site request forgery: a request that a cookie speaks for must come from a page of ours. SameSite=Strict keeps the
 * cookie from other sites; this keeps out other hosts of the same site, and browsers that do not know SameSite.
 */
import type { FastifyRequest } from "fastify";
import { AppError } from "../platform/app-error.ts";

const reads = ["GET", "HEAD"];

/** @throws AppError foreign_origin */
export function requireOwnOrigin(request: FastifyRequest): void {
  if (!isOwn(request)) throw new AppError("foreign_origin");
}

function isOwn({ method, host, headers }: FastifyRequest): boolean {
  const isRead = reads.includes(method);
  const site = headers["sec-fetch-site"];
  // "none" is an address that a person entered: nobody else chose it, but nobody enters a change.
  if (site !== undefined) return site === "same-origin" || (isRead && site === "none");
  const { origin } = headers;
  // Browsers leave both headers out of reads over plain HTTP, but no browser leaves Origin out of a change.
  if (origin === undefined) return isRead;
  return URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
}
