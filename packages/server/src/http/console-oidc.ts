/**
 * `/console/oidc/{tenant}/{provider}`: sends a browser to an identity provider, and receives it when it returns
 * (docs/decisions/0093-openid-connect.md). Providers send the browser here from their own site.
 */
import { parseCookie, stringifySetCookie } from "cookie";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../platform/app-error.ts";
import { isUuid } from "../platform/ids.ts";
import { addressGroup } from "../platform/rate-limits/address-group.ts";
import type { Sessions } from "./caller.ts";
import { clientAddress } from "./client-address.ts";
import { within } from "./observation.ts";
import { busy, confirmed, notThere, refused, sendPage, signInQuestion, unreachable } from "./oidc-pages.ts";
import { isOpenedHere, isOverTls, requireOwnOrigin } from "./own-origin.ts";
import type { DepartureReason, ProviderSignIn, ProviderVisit } from "./provider-sign-in.ts";
import type { RateLimits } from "./rate-limits.ts";
import { operationHeaders } from "./response-headers.ts";
import { firstPage, readReturnPage } from "./return-page.ts";
import { sessionCookie, sessionTokenOf } from "./session-cookie.ts";

export interface ConsoleOidcOptions {
  readonly sessions: Sessions;
  readonly providers: ProviderSignIn;
  readonly limits: RateLimits;
}

/** Longer tickets, cookies and callbacks are refused unread. */
const maxLength = 8_192;
/** Longer Cookie headers are ignored. They contain a session, a ceremony and an ID token. */
const maxHeaderLength = 16_384;
/** The longest body with a logout token. */
const maxLogoutLength = 16_384;
/** The longest name of a tenant, or address. */
const maxNameLength = 254;
const ceremonySeconds = 600;
const signInPath = "/console/oidc";

/** Lax, because the provider's site sends the browser back. */
const attributes = { httpOnly: true, sameSite: "lax", path: "/" } as const;

export function mountConsoleOidc(app: FastifyInstance, { sessions, providers, limits }: ConsoleOidcOptions): void {
  visit("/console/oidc/:tenantId/:providerId", async (request, reply, where) => {
    limits.countVisit(request, reply);
    const { ticket, confirm, return: page } = request.query as Readonly<Record<string, unknown>>; // any query
    const session = confirm === undefined ? undefined : await sessionToConfirm(request, where.tenantId);
    if (confirm !== undefined && session === undefined) {
      limits.countFailure(request, undefined);
      return sendPage(reply, 401, refused);
    }
    const reason = { ticket: typeof ticket === "string" ? ticket : undefined, session, returnTo: readReturnPage(page) };
    // A test signs nobody in, and a session's cookie is sent only if a page of this server opened the address.
    const signsIn = reason.ticket === undefined && session === undefined;
    if (!signsIn || isOpenedHere(request)) return depart(request, reply, where, reason);
    const offer = await providers.offer(where);
    if (offer === undefined) return sendPage(reply, 404, notThere);
    const query = reason.returnTo === undefined ? "" : `?${new URLSearchParams({ return: reason.returnTo })}`;
    return sendPage(reply, 200, signInQuestion(offer, `${signInPath}/${where.tenantId}/${where.providerId}${query}`));
  });
  visit("/console/oidc/:tenantId/:providerId/callback", async (request, reply, where) => {
    const overTls = isOverTls(request);
    const query = request.url.includes("?") ? request.url.slice(request.url.indexOf("?")) : "";
    const returned = await providers.arrive(where, query, ceremonyOf(request.headers.cookie, overTls));
    if (returned.kind === "busy") {
      limits.countVisit(request, reply);
      return sendBusy(reply);
    }
    const cookies = [true, false].map((secure) => ceremonyCookie("", secure, 0));
    if (returned.kind === "refused") {
      limits.countFailure(request, undefined);
      reply.header("Set-Cookie", cookies);
      const link = returned.returnTo ?? firstPage;
      return returned.unreachable
        ? sendPage(reply, 502, { ...unreachable, link })
        : sendPage(reply, 401, { ...refused, link });
    }
    if (returned.kind === "tested") {
      const title = returned.succeeded ? "The test sign-in succeeded" : "The test sign-in failed";
      return sendPage(reply.header("Set-Cookie", cookies), returned.succeeded ? 200 : 422, {
        title,
        lines: returned.lines,
      });
    }
    if (returned.kind === "confirmed") return sendPage(reply.header("Set-Cookie", cookies), 200, confirmed);
    // A session that the browser had, perhaps set by somebody else, does not survive.
    const before = sessionTokenOf(request.headers.cookie, overTls);
    if (before !== undefined) await sessions.end(before);
    limits.noteSignedIn([returned.token], clientAddress(request));
    const idToken = idTokenCookie(returned.idToken ?? "", overTls);
    reply.header("Set-Cookie", [sessionCookie(returned.token, overTls), idToken, ...cookies]);
    // A redirect would still be a request from the provider's site, which gets no strict cookie.
    return sendPage(reply, 200, {
      title: "Signed in",
      lines: ["The console opens."],
      next: returned.returnTo ?? firstPage,
    });
  });

  visit("/console/oidc/:tenantId/:providerId/sign-out", async (request, reply, where) => {
    limits.countVisit(request, reply);
    const overTls = isOverTls(request);
    const url = await providers.signOut(where, cookieOf(request.headers.cookie, idTokenNames, overTls));
    if (url === "busy") return sendBusy(reply);
    reply.header(
      "Set-Cookie",
      [true, false].map((secure) => idTokenCookie("", secure)),
    );
    if (url === "unreachable") {
      limits.countFailure(request, undefined);
      return sendPage(reply, 502, unreachable);
    }
    return reply.redirect(url ?? "/console/", 302);
  });
  app.post("/console/sign-in/providers", {
    bodyLimit: 1_024,
    onRequest: (request) => within(request, async () => requireOwnOrigin(request)),
    handler: (request, reply) =>
      within(request, async () => {
        reply.headers(operationHeaders);
        limits.requireUnblockedAddress(request, reply, undefined);
        const { name } = (request.body ?? {}) as { readonly name?: unknown }; // checked below
        if (typeof name !== "string" || name.trim() === "" || name.length > maxNameLength) {
          const errors = [{ pointer: "/name", message: "must be a short text" }];
          throw new AppError("invalid_body", { errors });
        }
        const found = await providers.find(name.trim());
        // Otherwise names could be tried without limit.
        if (found.length === 0) limits.countFailure(request, undefined);
        return reply.send({ providers: found });
      }),
  });
  // Forms and identity providers send parameters in this form.
  void app.register(async (scope) => {
    scope.addContentTypeParser(
      "application/x-www-form-urlencoded",
      { parseAs: "string", bodyLimit: maxLogoutLength },
      (_request, body, done) => done(null, new URLSearchParams(String(body))),
    );
    scope.post("/console/oidc/:tenantId/:providerId", {
      onRequest: (request) => within(request, async () => requireOwnOrigin(request)),
      handler: (request, reply) =>
        exchange(request, reply, (where) => {
          limits.countVisit(request, reply);
          const { return: page } = request.query as Readonly<Record<string, unknown>>; // any query
          return depart(request, reply, where, { returnTo: readReturnPage(page) });
        }),
    });
    scope.post("/console/oidc/:tenantId/:providerId/back-channel-logout", (request, reply) =>
      exchange(request, reply, async (where) => {
        const { body } = request;
        const tokens = body instanceof URLSearchParams ? body.getAll("logout_token") : [];
        const ended = tokens.length === 1 ? await providers.endSessions(where, tokens[0] ?? "") : "refused";
        if (ended === "ended") return reply.status(200).send();
        if (ended === "busy") limits.countVisit(request, reply);
        else limits.countFailure(request, undefined);
        // OpenID Connect Back-Channel Logout 1.0, section 2.8.
        if (ended === "refused") return reply.status(400).send({ error: "invalid_request" });
        return reply.header("Retry-After", "5").status(503).send({ error: "temporarily_unavailable" });
      }),
    );
  });

  /** Sends the browser to the provider. */
  async function depart(
    request: FastifyRequest,
    reply: FastifyReply,
    where: ProviderVisit,
    reason: DepartureReason,
  ): Promise<FastifyReply> {
    const departure = await providers.depart(where, reason);
    if (departure === "busy") return sendBusy(reply);
    if (departure === "unreachable") {
      limits.countFailure(request, undefined);
      return sendPage(reply, 502, unreachable);
    }
    if (departure === undefined) return sendPage(reply, 404, notThere);
    const cookie = ceremonyCookie(departure.ceremony, isOverTls(request), ceremonySeconds);
    // The browser opens the provider's page with GET, even after a form.
    return reply.header("Set-Cookie", cookie).redirect(departure.url, request.method === "POST" ? 303 : 302);
  }

  /** The person's session in the tenant, from which the request comes. */
  async function sessionToConfirm(request: FastifyRequest, tenantId: string) {
    const token = sessionTokenOf(request.headers.cookie, isOverTls(request));
    if (token === undefined) return undefined;
    const info = await sessions.describe(token, clientAddress(request)).catch((error: unknown) => {
      if (error instanceof AppError && error.status === 401) return undefined;
      throw error;
    });
    const { id, user } = info ?? {};
    if (info?.tenant.id !== tenantId || id === undefined || user === undefined) return undefined;
    return { id, userId: user.id };
  }

  function visit(
    url: string,
    handle: (request: FastifyRequest, reply: FastifyReply, where: ProviderVisit) => Promise<FastifyReply>,
  ): void {
    app.get(url, { exposeHeadRoute: false }, (request, reply) =>
      exchange(request, reply, (where) => handle(request, reply, where)),
    );
  }

  /** Performs a request that leads to requests to a provider. */
  function exchange(
    request: FastifyRequest,
    reply: FastifyReply,
    perform: (where: ProviderVisit) => Promise<FastifyReply>,
  ): Promise<FastifyReply> {
    return within(request, async () => {
      reply.headers(operationHeaders);
      limits.requireUnblockedAddress(request, reply, undefined);
      const { tenantId, providerId } = request.params as { readonly tenantId: string; readonly providerId: string };
      if (!isUuid(tenantId) || !isUuid(providerId)) return sendPage(reply, 404, notThere);
      if (request.url.length > maxLength) return sendPage(reply, 401, refused);
      return perform({
        // Otherwise another spelling of an id would count separately.
        tenantId: tenantId.toLowerCase(),
        providerId: providerId.toLowerCase(),
        requestId: request.id,
        address: clientAddress(request),
        addressGroup: addressGroup(clientAddress(request)),
        userAgent: request.headers["user-agent"],
      });
    });
  }
}

function sendBusy(reply: FastifyReply): FastifyReply {
  return sendPage(reply.header("Retry-After", "5"), 503, busy);
}

interface CookieNames {
  readonly secure: string;
  readonly plain: string;
}

const ceremonyNames: CookieNames = { secure: "__Host-gatehouse_oidc", plain: "gatehouse_oidc" };
const idTokenNames: CookieNames = { secure: "__Host-gatehouse_id_token", plain: "gatehouse_id_token" };

function ceremonyCookie(value: string, secure: boolean, maxAge: number): string {
  const name = secure ? ceremonyNames.secure : ceremonyNames.plain;
  return stringifySetCookie({ name, value, secure, maxAge, ...attributes });
}

/** The ID token, encrypted, with which the person signs out at the provider. @param value empty to delete it */
function idTokenCookie(value: string, secure: boolean): string {
  const name = secure ? idTokenNames.secure : idTokenNames.plain;
  return stringifySetCookie({
    name,
    value,
    secure,
    ...(value === "" ? { maxAge: 0 } : {}),
    ...attributes,
    sameSite: "strict",
    path: secure ? "/" : "/console/oidc/",
  });
}

function ceremonyOf(header: string | undefined, overTls: boolean): string | undefined {
  return cookieOf(header, ceremonyNames, overTls);
}

/** The plain cookie does not count over TLS, because another host of the site could have set it. */
function cookieOf(header: string | undefined, names: CookieNames, overTls: boolean): string | undefined {
  if (header === undefined || header.length > maxHeaderLength) return undefined;
  const cookies = parseCookie(header);
  return cookies[names.secure] ?? (overTls ? undefined : cookies[names.plain]);
}
