/**
 * The API of component tests. Every operation of the OpenAPI document answers with the smallest response that its
 * schema accepts, unless a test gives another. Requests that the document does not accept fail the test.
 */
import type { Method, PathWith, ResultOf } from "@gatehouse/client/calls";
import type { Problem } from "@gatehouse/client/errors";
import { type ErrorCode, errorDefinitions, problemType } from "@gatehouse/contract/errors";
import { type Permission, permissions } from "@gatehouse/contract/permissions";
import { HttpResponse, http } from "msw";
import { setupServer } from "msw/node";
import type { Installation } from "../app/passkeys.ts";
import type { OfferedProvider } from "../app/providers.ts";
import type { Session } from "../app/session-requests.ts";
import { type ApiOperation, findOperation, schemaViolations } from "./openapi-document.ts";
import { sampleOf } from "./sample.ts";

export interface ReceivedRequest {
  /** The header X-Request-Id of the response. */
  readonly id: string;
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly ifMatch: string | null;
  /** Decoded; null if the request has none. */
  readonly overrideReason: string | null;
}

/** Anything that `JSON.stringify` turns into the response's body. */
type BodyFor<P extends PathWith<M>, M extends Method> = ResultOf<P, M>;
type Answer<Body> = Body | Response;
type Responder<Body> = Answer<Body> | ((request: ReceivedRequest) => Answer<Body> | Promise<Answer<Body>>);

/** The ETag of every record. */
export const etag = '"1"';

class MockApi {
  #permissions: readonly Permission[] = permissions;
  #session: Session | undefined;
  #providers: readonly OfferedProvider[] | Response = [];
  /** The answer to the next recovery code. Undefined if every code is refused. */
  #nextRecoveryCode: string | undefined;
  #installation: Partial<Installation> | Response = {};
  #requests: ReceivedRequest[] = [];
  #violations: string[] = [];
  readonly #pending = new Set<Promise<Response>>();
  readonly #responders = new Map<string, Responder<unknown>>();

  reset(): void {
    this.#permissions = permissions;
    this.#session = undefined;
    this.#providers = [];
    this.#nextRecoveryCode = undefined;
    this.#installation = {};
    this.#requests = [];
    this.#violations = [];
    this.#responders.clear();
    this.signIn();
  }

  /** Starts a session with these permissions. */
  signIn(held: readonly Permission[] = permissions, changed: Partial<Session> = {}): void {
    this.#permissions = held;
    this.#session = {
      apiKey: { id: "01980000-0000-7000-8000-00000000cccc", name: "Test key" },
      tenant: { id: "01980000-0000-7000-8000-00000000aaaa", name: "Example Ltd", slug: "example-ltd" },
      permissions: held,
      expiresAt: "2026-12-01T00:00:00.000Z",
      ...changed,
    };
  }

  /** Starts the session of a person, by default of one without any role. */
  signInPerson(held: readonly Permission[] = []): void {
    this.#permissions = held;
    this.#session = {
      user: { id: "01980000-0000-7000-8000-00000000bbbb", email: "ann@example.com", name: "Ann" },
      tenant: { id: "01980000-0000-7000-8000-00000000aaaa", name: "Example Ltd", slug: "example-ltd" },
      permissions: held,
      expiresAt: "2026-12-01T00:00:00.000Z",
    };
  }

  /** Changes the server's facts about itself, or their response. By default, it has agent packages and sends mail. */
  install(changed: Partial<Installation> | Response): void {
    this.#installation = changed;
  }

  /** Ends the session: every request is refused with 401 until the next sign-in. */
  endSession(): void {
    this.#session = undefined;
  }

  /** Accepts every recovery code, starts the session of its person, and answers with the next code. */
  acceptRecoveryCodes(nextCode: string): void {
    this.#nextRecoveryCode = nextCode;
  }

  /** Sets the identity providers that the sign-in page finds for every name, or an error. */
  offerProviders(providers: readonly OfferedProvider[] | Response): void {
    this.#providers = providers;
  }

  /** Replaces the answer of an operation. A function is called for each request. */
  answer<M extends Method, P extends PathWith<M>>(method: M, path: P, responder: Responder<BodyFor<P, M>>): void {
    this.#responders.set(`${method} ${path}`, responder);
  }

  /** The requests that an operation received, in order. */
  received(operation: string): readonly ReceivedRequest[] {
    return this.#requests.filter((request) => request.operation === operation);
  }

  /** Bodies of the requests that an operation received, in order. */
  bodies(operation: string): readonly unknown[] {
    return this.received(operation).map(({ body }) => body);
  }

  /** Requests that can change something: all but reads, previews and other questions. */
  writes(): readonly string[] {
    return this.#requests
      .filter(
        ({ method, path }) =>
          method !== "GET" && !/\/(preview|evaluations?|search\/\w+|check|plan|test-configuration)$/.test(path),
      )
      .map(({ method, path }) => `${method} ${path}`);
  }

  /** Requests and answers that contradict the OpenAPI document. */
  violations(): readonly string[] {
    return this.#violations;
  }

  /** Resolves when every request that arrived is answered. */
  async settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.allSettled(this.#pending);
  }

  handle(request: Request): Promise<Response> {
    const response = this.#handle(request).finally(() => this.#pending.delete(response));
    this.#pending.add(response);
    return response;
  }

  async #handle(request: Request): Promise<Response> {
    const url = new URL(request.url);
    if (url.pathname === "/console/session") return this.#handleSession(request);
    if (url.pathname === "/console/sign-in") {
      if (this.#installation instanceof Response) return this.#installation.clone();
      const installation: Installation = { publicUrl: url.origin, hasAgentPackages: true, sendsMail: true };
      return HttpResponse.json({ ...installation, ...this.#installation });
    }
    if (url.pathname === "/console/sign-in/providers") return this.#findProviders(request);
    if (url.pathname === "/console/recovery") return this.#recover();
    const operation = findOperation(request.method, url.pathname);
    if (operation === undefined) {
      return this.#violation(`The API has no operation ${request.method} ${url.pathname}.`);
    }
    if (this.#session === undefined) return problem("session_ended");
    const text = await request.text();
    const received: ReceivedRequest = {
      id: `request-${this.#requests.length + 1}`,
      operation: operation.id,
      method: request.method,
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      body: text === "" ? undefined : JSON.parse(text),
      ifMatch: request.headers.get("if-match"),
      overrideReason: decodeReason(request.headers.get("gatehouse-override-reason")),
    };
    this.#requests.push(received);
    const invalid = requestViolations(operation, received);
    if (invalid.length > 0) return this.#violation(`${operation.id}: ${invalid.join("; ")}`);
    return this.#respond(operation, received);
  }

  async #respond(operation: ApiOperation, request: ReceivedRequest): Promise<Response> {
    const { status, schema, hasEtag } = operation.success;
    const responder = this.#responders.get(`${operation.method} ${operation.path}`);
    const given = typeof responder === "function" ? await responder(request) : responder;
    if (given instanceof Response) return given;
    const headers = { "x-request-id": request.id, ...(hasEtag ? { etag } : {}) };
    if (schema === undefined) return new HttpResponse(null, { status, headers });
    const body = given ?? sampleOf(schema);
    const invalid = schemaViolations(schema, body);
    if (invalid.length > 0) this.#violation(`The answer to ${operation.id}: ${invalid.join("; ")}`);
    return HttpResponse.json(body as object, { status, headers });
  }

  #recover(): Response {
    if (this.#nextRecoveryCode === undefined) return problem("sign_in_failed");
    this.signInPerson(this.#permissions);
    return HttpResponse.json({ ...this.#session, recoveryCode: this.#nextRecoveryCode });
  }

  async #findProviders(request: Request): Promise<Response> {
    const body = await request.json();
    const id = `request-${this.#requests.length + 1}`;
    const received = { id, operation: "findProviders", method: "POST", path: "/console/sign-in/providers", query: {} };
    this.#requests.push({ ...received, body, ifMatch: null, overrideReason: null });
    return this.#providers instanceof Response ? this.#providers : HttpResponse.json({ providers: this.#providers });
  }

  #handleSession(request: Request): Response {
    if (request.method === "DELETE") {
      this.endSession();
      return new HttpResponse(null, { status: 204 });
    }
    if (request.method === "POST") {
      if (request.headers.get("apikey") !== validKey) return problem("invalid_api_key");
      this.signIn(this.#permissions);
    }
    return this.#session === undefined ? problem("missing_api_key") : HttpResponse.json(this.#session);
  }

  #violation(message: string): Response {
    this.#violations.push(message);
    return problem("internal_error", { detail: message });
  }
}

/** The key that the sign-in form is accepted with. */
export const validKey = "gatehouse_key_for_tests";

export const mockApi = new MockApi();

/** Intercepts every request of the page. Requests to the internet would fail: nothing passes through. */
export const mockServer = setupServer(http.all("*", ({ request }) => mockApi.handle(request)));

/** An error as the API answers it. */
export function problem(code: ErrorCode, fields: Partial<Pick<Problem, "detail" | "errors">> = {}): Response {
  const { status, title, explanation } = errorDefinitions[code];
  const body: Problem = {
    type: problemType(code),
    title,
    status,
    detail: explanation,
    instance: "/",
    code,
    requestId: "01980000-0000-7000-8000-00000000ffff",
    ...fields,
  };
  return HttpResponse.json(body, { status, headers: { "content-type": "application/problem+json" } });
}

function requestViolations(operation: ApiOperation, { query, body }: ReceivedRequest): readonly string[] {
  const unknown = Object.keys(query).filter(
    (name) => !operation.queryNames.includes(name.replace(/^(filter\[[^\]]+\])\[\w+\]$/, "$1")),
  );
  const found = unknown.map((name) => `the query parameter ${name} does not exist`);
  const { requestBody } = operation;
  if (requestBody === undefined) return body === undefined ? found : [...found, "the operation takes no body"];
  if (body === undefined) return requestBody.required ? [...found, "the body is missing"] : found;
  const schema = requestBody.content["application/json"]?.schema ?? {};
  return [...found, ...schemaViolations(schema, body).map((violation) => `the body ${violation}`)];
}

/** The client sends the reason as the bytes of its UTF-8 form. */
function decodeReason(header: string | null): string | null {
  if (header === null) return null;
  return new TextDecoder().decode(Uint8Array.from(header, (character) => character.charCodeAt(0)));
}
