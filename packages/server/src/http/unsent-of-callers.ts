/** Counts the unread responses of each tenant, and of the operator. */
import { isWrite } from "@gatehouse/contract/operation";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { onceClosed } from "./client-disconnect.ts";
import { leastCountedBytes, type Requester, type UnsentBytes } from "./unsent-bytes.ts";

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
 * Requires that the caller has room for the response to its request, before work begins. Requests whose success has no
 * content need none: an administrator can always revoke the key that uses the room up.
 *
 * @throws AppError rate_limited
 */
export function requireUnsentRoom({ request, server }: FastifyReply): void {
  const requester = requesterOf(request);
  if (requester === undefined || request.operation?.success.kind === "empty") return;
  server.unsent.requireRoom(requester, isChange(request));
}

/**
 * Counts the content of a response until the client has read it or disconnects. It replaces content that the response
 * had before. Responses to changes are always accepted.
 *
 * @throws AppError rate_limited
 */
export function holdUnsent(reply: FastifyReply, content: Buffer): void {
  const { request, raw, server } = reply;
  const requester = requesterOf(request);
  if (requester === undefined || content.length <= leastCountedBytes) {
    server.unsent.release(raw);
    return;
  }
  try {
    server.unsent.hold(requester, raw, content, isChange(request));
  } catch (error) {
    for (const name of contentHeaders) reply.removeHeader(name);
    reply.header("cache-control", "no-store");
    throw error;
  }
  onceClosed(reply, () => server.unsent.release(raw));
}

/** Ends the count of a response that is sent without its content. */
export function releaseUnsent({ raw, server }: FastifyReply): void {
  server.unsent.release(raw);
}

/** @returns undefined before authentication: such responses are short, or shared by all clients */
function requesterOf({ caller }: FastifyRequest): Requester | undefined {
  if (caller === undefined) return undefined;
  const { type, id } = caller.actor;
  return { holder: caller.tenantId ?? "operator", actor: `${type} ${id}` };
}

function isChange({ operation }: FastifyRequest): boolean {
  return operation !== undefined && isWrite(operation);
}
