/** Counts the unread responses of each caller: of its tenant, or of its address if it has none. */
import { isWrite } from "@gatehouse/contract/operation";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { addressGroup } from "../platform/rate-limits/address-group.ts";
import { clientAddress } from "./client-address.ts";
import { onceClosed } from "./client-disconnect.ts";
import { leastCountedBytes, type UnsentBytes } from "./unsent-bytes.ts";

declare module "fastify" {
  interface FastifyInstance {
    readonly unsent: UnsentBytes;
  }
}

/** Headers that describe the content of a response which is refused. */
const contentHeaders = ["etag", "content-encoding", "gatehouse-event"] as const;

export function limitUnsentBytes(app: FastifyInstance, unsent: UnsentBytes): void {
  app.decorate("unsent", unsent);
  const stop = unsent.start();
  app.addHook("onClose", (_app, done) => {
    stop();
    done();
  });
}

/**
 * Requires that the caller has room for the response to its request, before work begins.
 *
 * @throws AppError rate_limited
 */
export function requireUnsentRoom({ request, server }: FastifyReply): void {
  server.unsent.requireRoom(holderOf(request), isChange(request));
}

/**
 * Counts the content of a response until the client has read it or disconnects. Responses to changes are always
 * accepted.
 *
 * @throws AppError rate_limited
 */
export function holdUnsent(reply: FastifyReply, content: Buffer): void {
  if (content.length <= leastCountedBytes) return;
  const { request, raw, server } = reply;
  try {
    server.unsent.hold(holderOf(request), raw, content, isChange(request));
  } catch (error) {
    for (const name of contentHeaders) reply.removeHeader(name);
    reply.header("cache-control", "no-store");
    throw error;
  }
  onceClosed(reply, () => server.unsent.release(raw));
}

function holderOf(request: FastifyRequest): string {
  const { caller } = request;
  if (caller !== undefined) return caller.tenantId ?? "operator";
  return `address:${addressGroup(clientAddress(request))}`;
}

function isChange({ operation }: FastifyRequest): boolean {
  return operation !== undefined && isWrite(operation);
}
