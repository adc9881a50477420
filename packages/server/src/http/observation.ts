/** Observes every request: a line in the log and, if enabled, metrics and a span. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, type Http2ServerResponse } from "node:http2";
import type { ErrorCode } from "@gatehouse/contract/errors";
import type { Operation } from "@gatehouse/contract/operation";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Log } from "../platform/log.ts";
import type { Metrics } from "../platform/telemetry/metrics.ts";
import type { RequestOutcome } from "../platform/telemetry/request-outcome.ts";
import type { RequestSpan, Tracing } from "../platform/telemetry/tracing.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** The operation, set when the route has matched. */
    operation: Operation | undefined;
    /** The error code of the response. */
    problemCode: ErrorCode | undefined;
    span: RequestSpan | undefined;
    /** Whether the request has started and not ended. */
    observed: boolean;
  }
}

export interface ObservationOptions {
  readonly log: Log;
  readonly metrics?: Metrics | undefined;
  readonly tracing?: Tracing | undefined;
}

/** Request ids that are safe in logs and terminals: visible ASCII, with spaces inside. */
const requestIdForm = /^[\x21-\x7e](?:[\x20-\x7e]{0,254}[\x21-\x7e])?$/;

/** The caller's X-Request-Id if it is well-formed, otherwise a new id. */
export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers["x-request-id"];
  return typeof given === "string" && requestIdForm.test(given) ? given : randomUUID();
}

const observedReply = Symbol("observed reply");

/** A response that knows the reply that it belongs to. */
type ObservedResponse = FastifyReply["raw"] & { [observedReply]?: FastifyReply };

/** Not logged, because supervisors and load balancers poll them constantly. */
const quietRoutes = new Set(["/healthz", "/readyz"]);

/** Installs the hooks. Returns the function to call for requests that never reach a hook. */
export function observeRequests(
  app: FastifyInstance,
  { log, metrics, tracing }: ObservationOptions,
): (request: FastifyRequest, reply: FastifyReply) => void {
  // The logged fields are listed below and contain no secrets, so redaction would only take time.
  const lines = log.child({}, { redact: [] });

  const begin = (request: FastifyRequest, reply: FastifyReply): void => {
    // Whatever the client sent is returned, even if it is not used as the id (AuthZEN Authorization API 1.0).
    reply.header("x-request-id", headerText(request.headers["x-request-id"]) ?? request.id);
    request.observed = true;
    metrics?.requestStarted();
    request.span = tracing?.startRequest(request.method, request.headers);
    const response: ObservedResponse = reply.raw;
    response[observedReply] = reply;
    // If the client disconnects early, the response never finishes.
    response.on("close", endAborted);
    // After an upgrade, stop treating the connection as a request.
    if (request.headers.upgrade !== undefined) response.once("upgraded", () => end(request, reply, "answered"));
  };

  // One function for all requests: a function for each request would outlive the request and burden garbage collection.
  function endAborted(this: ObservedResponse): void {
    const reply = this[observedReply];
    if (reply !== undefined) end(reply.request, reply, "aborted");
  }

  const end = (request: FastifyRequest, reply: FastifyReply, how: "answered" | "aborted"): void => {
    if (!request.observed) return;
    request.observed = false;
    const outcome = outcomeOf(request, reply, how === "aborted");
    metrics?.requestEnded(outcome);
    request.span?.end(outcome);
    const { aborted, ...line } = outcome;
    const level = quietRoutes.has(outcome.route) && outcome.status < 500 ? "debug" : "info";
    lines[level](aborted ? outcome : line, "request");
  };

  app.decorateRequest("operation", undefined);
  app.decorateRequest("problemCode", undefined);
  app.decorateRequest("span", undefined);
  app.decorateRequest("observed", false);
  app.addHook("onRequest", (request, reply, done) => {
    begin(request, reply);
    done();
  });
  app.addHook("onResponse", (request, reply, done) => {
    end(request, reply, isWhole(reply.raw) ? "answered" : "aborted");
    done();
  });
  return begin;
}

/** Whether a response was sent to its end. Over HTTP/2, Node.js reports every closed response as finished. */
function isWhole(response: ServerResponse | Http2ServerResponse): boolean {
  return response.writableEnded && !("stream" in response && response.stream.rstCode !== constants.NGHTTP2_NO_ERROR);
}

function headerText(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === "string" && header !== "" ? header : undefined;
}

function outcomeOf(request: FastifyRequest, reply: FastifyReply, aborted: boolean): RequestOutcome {
  const { caller } = request;
  return {
    requestId: request.id,
    method: request.method,
    route: routeOf(request),
    status: aborted && !reply.raw.headersSent ? 499 : reply.statusCode,
    durationMs: Math.round(reply.elapsedTime * 1000) / 1000,
    tenantId: caller?.tenantId,
    actorId: caller === undefined ? undefined : (caller.actor.id ?? caller.actor.type),
    code: request.problemCode,
    aborted,
  };
}

function routeOf(request: FastifyRequest): string {
  if (request.operation !== undefined) return request.operation.path;
  return request.is404 ? "unknown" : (request.routeOptions.url ?? "unknown").replaceAll(/:(\w+)/g, "{$1}");
}

/** Runs work for the request, so that its queries are attributed to the request. */
export function within<T>(request: FastifyRequest, work: () => T): T {
  return request.span === undefined ? work() : request.span.run(work);
}
