/**
 * The steps in which people sign in and register passkeys: `/console/sign-in`, `/console/enrolment`,
 * `/console/recovery` and `/console/account` (docs/decisions/0088-people-sign-in.md). Only pages of this server can
 * take them.
 */
import { createHash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { ErrorCode } from "@gatehouse/contract/errors";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../platform/app-error.ts";
import { type AuthenticationOptions, authenticate } from "./authentication.ts";
import type { Caller, Sessions } from "./caller.ts";
import { clientAddress } from "./client-address.ts";
import { within } from "./observation.ts";
import { isOverTls, requireOwnOrigin } from "./own-origin.ts";
import type { BegunCeremony, DemoSignIn, PeopleSignIn, SignedIn, SignInContext } from "./people.ts";
import { operationHeaders } from "./response-headers.ts";
import {
  ceremonyCookie,
  ceremonyOf,
  forgottenCeremonyCookies,
  sessionCookie,
  sessionTokenOf,
} from "./session-cookie.ts";

export interface ConsoleSignInOptions extends AuthenticationOptions {
  readonly sessions: Sessions;
  readonly people: PeopleSignIn;
  /** Undefined unless the server runs in demo mode. */
  readonly demo?: DemoSignIn | undefined;
  /** Optional parts of this installation. The console does not offer what the server cannot do. */
  readonly features: { readonly hasAgentPackages: boolean; readonly sendsMail: boolean };
}

/** Longer than the response of any authenticator. */
const bodyLimit = 32_768;
const maxNameLength = 120;
/**
 * A refused enrolment link or code takes at least this long, which is longer than counting and recording a wrong guess.
 * The response time then does not reveal whether the first half of a code exists.
 */
const refusedEnrolmentMs = 200;

/** These routes belong to the console and are not part of the contract. */
export function mountConsoleSignIn(app: FastifyInstance, options: ConsoleSignInOptions): void {
  const { people, sessions, limits, demo, features } = options;

  app.get("/console/sign-in", { exposeHeadRoute: false }, (request, reply) =>
    within(request, async () => {
      const demoPeople = demo === undefined ? {} : { demo: { people: await demo.people() } };
      return reply.headers(operationHeaders).send({ publicUrl: people.publicUrl, ...features, ...demoPeople });
    }),
  );
  if (demo !== undefined) {
    anonymous("/console/demo/sign-in", async (request, reply) => {
      const { userId } = bodyOf(request, { userId: "text" });
      return signedIn(request, reply, await demo.signIn(contextOf(request), userId));
    });
  }
  // A challenge examines no credential and stores nothing. An address with failures gets it too: its people need one to
  // present the passkeys that stay accepted from there.
  app.post("/console/sign-in/options", {
    bodyLimit,
    onRequest: fromOwnPage,
    handler: (request, reply) =>
      within(request, async () => ceremony(reply.headers(operationHeaders), await people.beginSignIn())),
  });
  anonymous("/console/sign-in", async (request, reply) => {
    const { response } = bodyOf(request, { response: "object" });
    return signedIn(request, reply, await people.signIn(contextOf(request), response));
  });
  anonymous(
    "/console/enrolment/options",
    async (request, reply) => {
      const { token } = bodyOf(request, { token: "text" });
      const { person, ...begun } = await people.beginEnrolment(contextOf(request), token);
      return ceremony(reply, begun, { person });
    },
    refusedEnrolmentMs,
  );
  anonymous(
    "/console/enrolment",
    async (request, reply) => {
      const body = bodyOf(request, { token: "text", name: "text", response: "object" });
      return signedIn(request, reply, await people.enrol(contextOf(request), body));
    },
    refusedEnrolmentMs,
  );
  anonymous("/console/recovery", async (request, reply) => {
    const { code } = bodyOf(request, { code: "text" });
    const { recoveryCode, ...rest } = await people.recover(contextOf(request), code);
    return signedIn(request, reply, rest, { recoveryCode });
  });

  inSession("/console/account/passkeys/options", async (caller, _request, reply) =>
    ceremony(reply, await people.beginRegistration(caller)),
  );
  inSession("/console/account/passkeys", async (caller, request, reply) => {
    const body = bodyOf(request, { name: "text", response: "object" });
    const passkey = await people.register(caller, contextOf(request), body);
    noteAccepted(request);
    return withoutCeremony(reply).status(201).send(passkey);
  });
  inSession("/console/account/authentication/options", async (caller, _request, reply) =>
    ceremony(reply, await people.beginAuthentication(caller)),
  );
  inSession("/console/account/authentication", async (caller, request, reply) => {
    const { response } = bodyOf(request, { response: "object" });
    await people.authenticate(caller, contextOf(request), response);
    noteAccepted(request);
    return withoutCeremony(reply).status(204).send();
  });
  inSession("/console/account/recovery-code", async (caller, request, reply) =>
    reply.status(201).send({ recoveryCode: await people.renewRecoveryCode(caller, contextOf(request)) }),
  );

  /**
   * A step without a session. Failures count for the address, as those of keys do.
   *
   * @param refusedMs how long a failure takes at least
   */
  function anonymous(
    path: string,
    step: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
    refusedMs = 0,
  ): void {
    app.post(path, {
      bodyLimit,
      onRequest: fromOwnPage,
      handler: (request, reply) =>
        within(request, async () => {
          reply.headers(operationHeaders);
          const credential = credentialOf(request.body);
          limits.requireUnblockedAddress(request, reply, credential);
          try {
            return await step(request, reply);
          } catch (error) {
            if (isRefusedCredential(error)) {
              // Counted before the pause, so that requests at the same time cannot exceed the limit.
              limits.countFailure(request, credential);
              if (refusedMs > 0) await pause(Math.max(0, refusedMs - reply.elapsedTime));
            }
            throw error;
          }
        }),
    });
  }

  /** A step of a person who has signed in. */
  function inSession(
    path: string,
    step: (caller: Caller, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
  ): void {
    app.post(path, {
      bodyLimit,
      onRequest: (request, reply) =>
        within(request, async () => {
          requireOwnOrigin(request);
          await authenticate(request, reply, { ...options, access: "any-key" });
        }),
      handler: (request, reply) =>
        within(request, async () => {
          reply.headers(operationHeaders);
          const { caller } = request;
          if (caller === undefined) throw new AppError("missing_api_key");
          // A stolen token of a program must not become a passkey of the thief.
          if (caller.session?.client === "cli") throw new AppError("person_required");
          try {
            return await step(caller, request, reply);
          } catch (error) {
            if (isRefusedCredential(error)) limits.countFailure(request, undefined);
            throw error;
          }
        }),
    });
  }

  async function signedIn(
    request: FastifyRequest,
    reply: FastifyReply,
    { token, info }: SignedIn,
    more: object = {},
  ): Promise<FastifyReply> {
    const overTls = isOverTls(request);
    // A session that the browser had, perhaps set by somebody else, does not survive.
    const before = sessionTokenOf(request.headers.cookie, overTls);
    if (before !== undefined) await sessions.end(before);
    limits.noteSignedIn([token], clientAddress(request));
    noteAccepted(request);
    return reply
      .status(201)
      .header("Set-Cookie", [sessionCookie(token, overTls), ...forgottenCeremonyCookies()])
      .send({ ...info, ...more });
  }

  /** Keeps the address open to the passkey or link of a request that succeeded. */
  function noteAccepted(request: FastifyRequest): void {
    const credential = credentialOf(request.body);
    if (credential !== undefined) limits.noteSignedIn([credential], clientAddress(request));
  }

  function ceremony(reply: FastifyReply, { options: forBrowser, ceremony: text }: BegunCeremony, more: object = {}) {
    const { request } = reply;
    return reply.header("Set-Cookie", ceremonyCookie(text, isOverTls(request))).send({ options: forBrowser, ...more });
  }
}

const fromOwnPage = (request: FastifyRequest) => within(request, async () => requireOwnOrigin(request));

function withoutCeremony(reply: FastifyReply): FastifyReply {
  return reply.header("Set-Cookie", forgottenCeremonyCookies());
}

function contextOf(request: FastifyRequest): SignInContext {
  return {
    requestId: request.id,
    address: clientAddress(request),
    userAgent: request.headers["user-agent"],
    ceremony: ceremonyOf(request.headers.cookie, isOverTls(request)),
  };
}

/** Errors with status 401 that refuse only a session. */
const sessionErrors: ReadonlySet<ErrorCode> = new Set(["session_ended", "recent_authentication_required"]);

/** Whether the server refused a credential: one to sign in with, or a passkey to register. */
function isRefusedCredential(error: unknown): boolean {
  if (!(error instanceof AppError)) return false;
  return (error.status === 401 && !sessionErrors.has(error.code)) || error.code === "passkey_not_accepted";
}

type FieldKind = "text" | "object";
type BodyWith<Fields extends Readonly<Record<string, FieldKind>>> = {
  readonly [Name in keyof Fields]: Fields[Name] extends "text" ? string : object;
};

/** @throws AppError invalid_body */
function bodyOf<const Fields extends Readonly<Record<string, FieldKind>>>(
  { body }: FastifyRequest,
  fields: Fields,
): BodyWith<Fields> {
  const errors = Object.entries(fields).flatMap(([name, kind]) => {
    const value: unknown = typeof body === "object" && body !== null ? Reflect.get(body, name) : undefined;
    const isValid =
      kind === "text"
        ? typeof value === "string" && value.trim() !== "" && value.length <= (name === "name" ? maxNameLength : 200)
        : typeof value === "object" && value !== null && !Array.isArray(value);
    return isValid
      ? []
      : [{ pointer: `/${name}`, message: kind === "text" ? "must be a short text" : "must be an object" }];
  });
  if (errors.length > 0) throw new AppError("invalid_body", { errors });
  return body as BodyWith<Fields>; // each field was checked above
}

/**
 * Identifies the credential of a request in counts of failures, without containing it. An address that is blocked
 * because of somebody else's failures stays open to credentials that were accepted from it.
 */
function credentialOf(body: unknown): string | undefined {
  const field = (value: unknown, name: string): unknown =>
    typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
  const text = field(field(body, "response"), "id") ?? field(body, "token");
  if (typeof text !== "string") return undefined;
  return `sign-in:${createHash("sha256").update(text).digest("base64url")}`;
}
