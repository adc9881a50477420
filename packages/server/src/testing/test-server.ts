/**
 * A complete server in the test's process, and clients that call it like users.
 *
 * Most files use `sharedTestServer`, which a worker starts once, and each file creates its own tenants in it. A file
 * that needs other settings, its own clock or its own database starts a server with `startTestServer`, and closes it.
 */
import { randomBytes } from "node:crypto";
import type { Readable } from "node:stream";
import { pageOf } from "@gatehouse/contract/list";
import { errorsOf, isConditional, type Operation } from "@gatehouse/contract/operation";
import { operations } from "@gatehouse/contract/operations/all";
import type { Permission } from "@gatehouse/contract/permissions";
import { Problem } from "@gatehouse/contract/problem";
import Type from "typebox";
import { expect, inject } from "vitest";
import { waitLimitMs } from "../../../../test/wait-limit.ts";
import { type ComposeOptions, type Composition, compose } from "../compose.ts";
import { compileCheck } from "../http/validation.ts";
import type { Clock } from "../platform/clock.ts";
import type { Connection } from "../platform/db/database.ts";
import { generateToken, tokenPrefixes } from "../platform/secrets/tokens.ts";
import { publishedTxt } from "./published-txt.ts";
import type { SimulatedClock } from "./test-clock.ts";
import { recentWarnings, testLog } from "./test-log.ts";

export interface TestServerOptions {
  readonly connection?: Connection;
  /** The database uses the time of this clock, unless the clock has a separate database time. */
  readonly clock?: Clock & Partial<SimulatedClock>;
  readonly bootstrapApiKey?: string;
  readonly operatorKey?: string;
  /** Whether the test makes the server fail. Otherwise clients throw if the server cannot serve a call. */
  readonly mayFail?: boolean;
  /** Settings that differ from the defaults of tests. */
  readonly settings?: Partial<
    Pick<
      ComposeOptions,
      | "audit"
      | "auditHeadsFile"
      | "masterKey"
      | "secondMasterKey"
      | "rotated"
      | "streams"
      | "poolSize"
      | "consoleFolder"
      | "agentsFolder"
      | "demoPeople"
      | "trustedProxies"
      | "strictTransportDays"
      | "acme"
      | "tls"
      | "mail"
      | "publicUrl"
      | "providerNetworks"
      | "resolveTxt"
      | "requestTimeoutMs"
      | "stallMs"
      | "databaseLimits"
      | "log"
      | "rateLimits"
      | "metrics"
      | "tracing"
      | "webhooks"
      | "gatewayLinks"
      | "deviceLinks"
      | "evaluationLimits"
      | "cacheMebibytes"
      | "orderThresholds"
      | "publicUrl"
    >
  >;
}

/** The key that encrypts stored secrets in tests. All tests use the same key, because they share a database. */
export const testMasterKey = Buffer.alloc(32, 7);

export interface TestServer extends Composition {
  readonly operatorKey: string;
  /** A client with the operator's key. */
  readonly operator: TestClient;
  /** Creates a tenant for the test. */
  newTenant(): Promise<TestTenant>;
  client(key: string | undefined, headers?: Headers): TestClient;
  /** Listens on a free port of the loopback address. Repeated calls return the same URL. */
  listen(): Promise<string>;
}

export interface TestTenant {
  readonly id: string;
  readonly key: string;
  /** A client with the tenant's first key, which holds every permission. */
  readonly client: TestClient;
  /** Creates a key with only these permissions. */
  keyWith(...permissions: Permission[]): Promise<string>;
}

let shared: Promise<TestServer> | undefined;

/**
 * Starts the worker's server at the first call, with default settings and the shared database.
 *
 * @returns the worker's server
 */
export function sharedTestServer(): Promise<TestServer> {
  shared ??= startTestServer().then((server) => ({
    ...server,
    close: () => Promise.reject(new Error("the worker's other files use this server: do not close it")),
  }));
  return shared;
}

/** Starts a server for the test, which must close it. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const operatorKey = options.operatorKey ?? generateToken(tokenPrefixes.operator);
  const { clock } = options;
  const composition = await compose({
    connection: options.connection ?? inject("database"),
    poolSize: 8,
    masterKey: testMasterKey,
    trustedProxies: [],
    log: testLog,
    resolveTxt: async (name) => publishedTxt.get(name) ?? [],
    // On a busy machine, bursts of commands wait longer for each other than production should let callers wait.
    databaseLimits: { connectTimeoutMs: waitLimitMs },
    // Tests share a database, so servers would make each other's deliveries.
    webhooks: { deliver: false },
    setUp: {
      operatorKey,
      bootstrapApiKey: options.bootstrapApiKey,
      tenantName: "First tenant",
      ownerEmail: "owner@example.com",
    },
    ...(clock === undefined ? {} : { clock, databaseTime: () => clock.databaseTime?.() ?? clock.now() }),
    ...options.settings,
    // Servers of a shared database would find gateways of other tests silent, because their clocks differ.
    gatewayLinks: { watch: options.connection !== undefined, ...options.settings?.gatewayLinks },
  });
  await composition.app.ready();
  const requires = options.mayFail === true ? "nothing" : "service";
  const client = (key: string | undefined, headers?: Headers) => new TestClient(composition, key, requires, headers);
  let url: Promise<string> | undefined;
  return {
    ...composition,
    operatorKey,
    operator: client(operatorKey),
    client,
    listen() {
      url ??= composition.app.listen({ host: "127.0.0.1", port: 0 });
      return url;
    },
    async newTenant() {
      const name = `Tenant ${randomBytes(6).toString("hex")}`;
      const made = await client(operatorKey).post("/operator/tenants", { name, ownerEmail: "owner@example.com" });
      expect(made.status).toBe(201);
      const key: string = made.body.apiKey.key;
      const tenantClient = client(key);
      return {
        id: made.body.tenant.id,
        key,
        client: tenantClient,
        async keyWith(...permissions) {
          const { status, body } = await tenantClient.post("/tenants/api-keys", { name: "Test key", permissions });
          expect(status).toBe(201);
          return body.key;
        },
      };
    },
  };
}

/**
 * The parsed JSON of a reply. Its type is open, because tests call operations by path, even with invalid requests, and
 * assert the fields they read. The client compares each body with the schema of its operation.
 */
// biome-ignore lint/suspicious/noExplicitAny: see above; `unknown` would only add a cast to each assertion
export type ReplyBody = any;

export interface TestReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: ReplyBody;
  readonly text: string;
}

type Headers = Readonly<Record<string, string>>;

/** The replies at which a client throws: none, those of a server that cannot serve, or all errors. */
type Requirement = "nothing" | "service" | "success";

/** Calls the server and compares every reply with the declaration of its operation. */
export class TestClient {
  readonly #composition: Composition;
  readonly #key: string | undefined;
  readonly #requires: Requirement;
  readonly #headers: Headers;

  /** @param headers of each request, such as the cookie of a person's session */
  constructor(composition: Composition, key: string | undefined, requires: Requirement, headers: Headers = {}) {
    this.#composition = composition;
    this.#key = key;
    this.#requires = requires;
    this.#headers = headers;
  }

  /** The same client, but it throws unless a call succeeds: for steps whose reply the test does not check. */
  get must(): TestClient {
    return new TestClient(this.#composition, this.#key, "success", this.#headers);
  }

  get(path: string, headers: Headers = {}): Promise<TestReply> {
    return this.send("GET", path, undefined, headers);
  }
  post(path: string, body?: unknown, headers: Headers = {}): Promise<TestReply> {
    return this.send("POST", path, body, headers);
  }
  put(path: string, body?: unknown, headers: Headers = {}): Promise<TestReply> {
    return this.send("PUT", path, body, headers);
  }
  patch(path: string, body?: unknown, headers: Headers = {}): Promise<TestReply> {
    return this.send("PATCH", path, body, headers);
  }
  delete(path: string, headers: Headers = {}): Promise<TestReply> {
    return this.send("DELETE", path, undefined, headers);
  }

  async send(method: Operation["method"], path: string, body?: unknown, headers: Headers = {}): Promise<TestReply> {
    const called = operationFor(method, path);
    const { success } = called?.operation ?? {};
    const isLive = success?.kind === "stream" && success.live === true;
    const leave = new AbortController();
    const response = await this.#composition.app.inject({
      ...(isLive ? { payloadAsStream: true, signal: leave.signal } : {}),
      method,
      url: path,
      headers: {
        ...(this.#key === undefined ? {} : { apikey: this.#key }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...this.#headers,
        ...headers,
      },
      ...(body === undefined ? {} : { payload: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = isLive ? await beginning(response.stream(), leave) : response.body;
    const type = String(response.headers["content-type"] ?? "");
    const reply: TestReply = {
      status: response.statusCode,
      headers: Object.fromEntries(
        Object.entries(response.headers).map(([name, value]) => [
          name,
          value === undefined ? undefined : String(value),
        ]),
      ),
      text,
      body: /\bjson\b/.test(type) && text !== "" ? JSON.parse(text) : undefined,
    };
    requireDeclared(called, `${method} ${path}`, reply);
    this.#require(method, path, reply);
    return reply;
  }

  /** Throws at replies that the client does not accept. Otherwise a failed step shows only much later. */
  #require(method: string, path: string, { status, body, text }: TestReply): void {
    const isAccepted =
      status < 400 ||
      this.#requires === "nothing" ||
      (this.#requires === "service" && !outOfService.includes(body?.code));
    if (!isAccepted) throw new Error(`${method} ${path} answered ${status} ${text.slice(0, 500)}${recentWarnings()}`);
  }
}

/** The errors of a server that cannot serve a call, whatever the call is. */
const outOfService: readonly string[] = ["database_unavailable", "internal_error"];

/**
 * The beginning of a live answer, after which the reader disconnects; for other answers, such as errors, the whole
 * text.
 */
async function beginning(stream: Readable, leave: AbortController): Promise<string> {
  let text = "";
  stream.setEncoding("utf8").on("error", () => undefined);
  try {
    for await (const piece of stream) {
      text += piece;
      if (text.includes("\n\n")) break;
    }
  } finally {
    leave.abort();
  }
  return text;
}

const checkProblem = compileCheck(Problem);

const declared = operations.map((operation) => ({
  operation,
  pattern: new RegExp(`^${operation.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
  check: bodyCheck(operation),
}));
type Declared = (typeof declared)[number];

function bodyCheck({ success }: Operation) {
  if (success.kind === "empty" || success.kind === "stream") return undefined;
  if (success.kind === "page") return compileCheck(pageOf(success.item));
  return compileCheck(success.kind === "array" ? Type.Array(success.item) : success.body);
}

/** The operation of a request. Literal paths take precedence over paths with parameters. */
function operationFor(method: Operation["method"], path: string): Declared | undefined {
  const bare = path.split("?", 1)[0] ?? "";
  const candidates = declared.filter(({ operation, pattern }) => operation.method === method && pattern.test(bare));
  return candidates.find(({ operation }) => operation.path === bare) ?? candidates[0];
}

function requireDeclared(called: Declared | undefined, request: string, reply: TestReply): void {
  const what = `${request} answered ${reply.status} ${reply.text.slice(0, 500)}`;
  expect(reply.headers["x-request-id"], what).toBeTruthy();
  if (reply.status >= 400) {
    expect(reply.headers["content-type"], what).toMatch("application/problem+json");
    expect(checkProblem(reply.body), what).toEqual([]);
    if (called !== undefined) expect(errorsOf(called.operation), what).toContain(reply.body.code);
    return;
  }
  if (called === undefined) return;
  const { success } = called.operation;
  if (reply.status === 304 && isConditional(called.operation)) {
    expect(reply.text, what).toBe("");
    return;
  }
  expect(reply.status, what).toBe(success.status);
  if (success.kind === "stream")
    expect(success.mediaTypes, what).toContain(reply.headers["content-type"]?.split(";")[0]);
  else if (called.check === undefined) expect(reply.text, what).toBe("");
  else expect(called.check(reply.body), what).toEqual([]);
}
