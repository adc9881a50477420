/** The HTTP server: every operation of the contract, the documentation, and the health checks. */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, METHODS, type RequestListener } from "node:http";
import { defaultBodyLimitBytes, type Operation } from "@gatehouse/contract/operation";
import Fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from "fastify";
import { AppError } from "../platform/app-error.ts";
import type { Log } from "../platform/log.ts";
import type { ServedCertificate } from "../platform/served-certificate.ts";
import { mountAgentPackages } from "./agent-packages.ts";
import type { AuthorizationServer } from "./authorization-server.ts";
import { readBodies } from "./bodies.ts";
import { BodyMemory } from "./body-memory.ts";
import type { Sessions } from "./caller.ts";
import { trustedProxyCheck } from "./client-address.ts";
import { respondToClientError } from "./client-errors.ts";
import { mountConsole } from "./console.ts";
import { mountConsoleAuthorization } from "./console-authorization.ts";
import { mountConsoleOidc } from "./console-oidc.ts";
import { mountConsoleSession } from "./console-session.ts";
import { mountConsoleSignIn } from "./console-sign-in.ts";
import { mountDecisionPoint } from "./decision-point.ts";
import { mountDocumentation } from "./documentation.ts";
import { type HealthOptions, mountHealth } from "./health.ts";
import { type LinkSocket, mountLinks } from "./link-sockets.ts";
import { type MountOptions, mount } from "./mount.ts";
import { mountOAuth } from "./oauth.ts";
import { type ObservationOptions, observeRequests, requestIdOf } from "./observation.ts";
import type { DemoSignIn, PeopleSignIn } from "./people.ts";
import { plannedRequests } from "./planned-requests.ts";
import { problemMediaType, problemOf, replyWithProblem } from "./problem.ts";
import type { ProviderSignIn } from "./provider-sign-in.ts";
import { type RateLimitOptions, RateLimits } from "./rate-limits.ts";
import { RequestTurns } from "./request-turns.ts";
import { forbidGuessing, guardEveryResponse } from "./response-headers.ts";
import type { Route } from "./route.ts";
import { defaultStallMs, limitStalls } from "./stalled-responses.ts";
import { createTlsServer, replaceCertificate } from "./tls-server.ts";
import { UnsentBytes } from "./unsent-bytes.ts";
import { limitUnsentBytes } from "./unsent-of-callers.ts";

const defaultRequestTimeoutMs = 30_000;
const keepAliveMs = 65_000;
/**
 * Length of the accept queue, if the system allows it (Linux: `net.core.somaxconn`, 4096 by default). Thousands of
 * agents reconnect at once after a restart; connections beyond the queue are refused or hang.
 */
export const acceptQueueLength = 4_096;

export interface AppOptions
  extends Omit<MountOptions, "limits" | "bodies" | "plannedRequests">,
    HealthOptions,
    ObservationOptions {
  readonly routes: readonly Route[];
  readonly sessions: Sessions;
  readonly people: PeopleSignIn;
  /** Undefined unless the server runs in demo mode. */
  readonly demo?: DemoSignIn | undefined;
  readonly providers: ProviderSignIn;
  readonly authorizations: AuthorizationServer;
  /** The folder of the built console; undefined to serve none. */
  readonly consoleFolder?: string | undefined;
  /** The folder with the repository of agents; undefined to serve none. */
  readonly agentsFolder?: string | undefined;
  /** Addresses and CIDRs of proxies whose X-Forwarded-For is trusted. */
  readonly trustedProxies: readonly string[];
  /** The time limit for receiving a complete request, in milliseconds. */
  readonly requestTimeoutMs?: number;
  /** How long a client can read nothing of a response, in milliseconds. */
  readonly stallMs?: number;
  /** How long browsers use only TLS for the public address, in days; 0 ends it. */
  readonly strictTransportDays: number;
  readonly rateLimits: Omit<RateLimitOptions, "clock">;
  /** Terminates TLS with this certificate; undefined for plain HTTP. */
  readonly tls?: ServedCertificate | undefined;
  /** The WebSocket endpoints of agents. */
  readonly links?: readonly LinkSocket[];
}

export function createApp(options: AppOptions): FastifyInstance {
  const { requestTimeoutMs = defaultRequestTimeoutMs, stallMs = defaultStallMs, tls, runner } = options;
  const times = { requestTimeoutMs, idleTimeoutMs: keepAliveMs, stallMs };
  const turns = new RequestTurns();
  const app = Fastify({
    loggerInstance: options.log as FastifyBaseLogger, // pino's logger, which Fastify's type describes only in part
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: "requestId" }),
    // Log lines name their request themselves: a logger for each request would cost more than most requests.
    childLoggerFactory: (log) => log,
    genReqId: (request) => requestIdOf(request as IncomingMessage), // requests of HTTP/2 have the same headers
    bodyLimit: defaultBodyLimitBytes,
    connectionTimeout: 0,
    forceCloseConnections: "idle",
    serverFactory: (handler: RequestListener) =>
      tls === undefined
        ? createServer(
            {
              requestTimeout: requestTimeoutMs,
              headersTimeout: requestTimeoutMs,
              // The interval at which Node checks for late requests.
              connectionsCheckingInterval: requestTimeoutMs / 5,
              keepAliveTimeout: keepAliveMs,
            },
            turns.inTurn(handler),
          )
        : createTlsServer(withKnownMethods(handler, options.log), {
            certificate: tls,
            clock: options.clock,
            turns,
            trustedProxies: options.trustedProxies,
            ...times,
          }),
    return503OnClosing: false,
    trustProxy: options.trustedProxies.length === 0 ? false : trustedProxyCheck(options.trustedProxies),
    // Longer than any header. The parameter checks decide whether a parameter is an id.
    routerOptions: { maxParamLength: 65_536 },
    clientErrorHandler: (error, socket) => respondToClientError(error, socket, turns, options.log),
    // URLs that cannot be decoded never reach a route or a hook.
    frameworkErrors: (error, request, reply) => {
      observe(request, reply);
      forbidGuessing(reply);
      replyWithProblem(error, request, reply);
    },
  });
  limitStalls(app.server, stallMs);
  tls?.onReplaced((pair) => replaceCertificate(app.server, pair));
  limitUnsentBytes(app, new UnsentBytes(options.clock));
  readBodies(app, runner);
  app.decorate("publicUrl", runner.publicUrl);
  app.decorateRequest("caller", undefined);
  const observe = observeRequests(app, options);
  guardEveryResponse(app, { publicUrl: options.runner.publicUrl, strictTransportDays: options.strictTransportDays });
  const methodsOf = methodFinder(options.routes.map(({ operation }) => operation));
  const replyThatNothingIsThere = (request: FastifyRequest, reply: FastifyReply) => {
    const methods = methodsOf(request.url.split("?", 1)[0] ?? "/");
    if (methods.length === 0) {
      return replyWithProblem(new AppError("no_such_operation"), request, reply);
    }
    reply.header("Allow", methods.join(", "));
    const detail = `The path supports ${methods.join(", ")}, not ${request.method}.`;
    return replyWithProblem(new AppError("method_not_allowed", { detail }), request, reply);
  };
  app.setNotFoundHandler(replyThatNothingIsThere);
  // Anybody can send such a request, so its body is not read.
  app.addHook("onRequest", (request, reply, done) => {
    if (request.is404) replyThatNothingIsThere(request, reply);
    else done();
  });
  app.setErrorHandler<Partial<FastifyError>>((error, request, reply) =>
    // Fastify requires a content type for QUERY before it finds that no operation supports the method.
    error.code === "FST_ERR_ROUTE_MISSING_CONTENT_TYPE" && request.is404
      ? replyThatNothingIsThere(request, reply)
      : replyWithProblem(error, request, reply),
  );
  const limits = new RateLimits({ ...options.rateLimits, clock: options.clock });
  const planned = plannedRequests(options.routes);
  const bodies = new BodyMemory();
  for (const route of options.routes) mount(app, route, { ...options, limits, bodies, plannedRequests: planned });
  mountConsoleSession(app, { ...options, limits });
  const hasAgentPackages = mountAgentPackages(app, { folder: options.agentsFolder, publicUrl: runner.publicUrl });
  mountConsoleSignIn(app, {
    ...options,
    limits,
    features: { hasAgentPackages, sendsMail: runner.mailsPerDay !== undefined },
  });
  mountConsoleOidc(app, { ...options, limits });
  mountConsoleAuthorization(app, { ...options, limits });
  mountOAuth(app, { ...options, limits });
  mountConsole(app, options.consoleFolder);
  mountLinks(app, limits, options.links ?? [], turns);
  mountHealth(app, options);
  mountDecisionPoint(app);
  mountDocumentation(
    app,
    options.routes.map(({ operation }) => operation),
  );
  return app;
}

/** Finds the methods of a path, for 405 responses. Called only if no route matched. */
function methodFinder(operations: readonly Operation[]): (path: string) => readonly string[] {
  const patterns = operations.map(({ method, path }) => ({
    method,
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
  }));
  return (path) =>
    [...new Set(patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))].sort();
}

/** Rejects methods for which no router has routes. Over HTTP/1.1, Node.js rejects them itself. */
function withKnownMethods(handler: RequestListener, log: Log): RequestListener {
  const known = new Set(METHODS);
  return (request, response) => {
    if (known.has(request.method ?? "")) {
      handler(request, response);
      return;
    }
    const requestId = randomUUID();
    const error = new AppError("invalid_parameter", { detail: "The method of the request is unknown." });
    log.info({ requestId, status: error.status, code: error.code }, "invalid request");
    response.writeHead(error.status, {
      "content-type": problemMediaType,
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "x-request-id": requestId,
    });
    response.end(JSON.stringify(problemOf(error, "/", requestId)));
  };
}
