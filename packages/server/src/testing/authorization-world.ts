/** The programs and people that use the authorization server in tests. */
import { createHash, randomBytes, randomInt } from "node:crypto";
import { expect } from "vitest";
import { activeUser, type PersonHeaders, personClient, signInAs } from "./signed-in-person.ts";
import { TestClock } from "./test-clock.ts";
import { createDatabase, type TestDatabase } from "./test-database.ts";
import { startTestServer, type TestReply, type TestServer, type TestTenant } from "./test-server.ts";

export const minuteMs = 60_000;
export const redirectUri = "http://127.0.0.1:49152/callback";
export const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";

type Fields = Readonly<Record<string, string>>;
type Answer = Pick<TestReply, "status" | "body">;

/** A server with a clock of the test, one tenant, and the addresses of its callers. */
export class AuthorizationWorld {
  readonly clock: TestClock;
  readonly server: TestServer;
  readonly tenant: TestTenant;
  readonly #database: TestDatabase;
  readonly #network = randomInt(0x1000, 0x1_0000).toString(16);
  #addresses = 0;

  private constructor(clock: TestClock, database: TestDatabase, server: TestServer, tenant: TestTenant) {
    this.clock = clock;
    this.#database = database;
    this.server = server;
    this.tenant = tenant;
  }

  static async start(): Promise<AuthorizationWorld> {
    const clock = new TestClock();
    // An advanced clock deletes expired device codes, including those of other tests in the same database.
    const database = await createDatabase();
    // Failures are counted for each address, so each caller has another one.
    const settings = { trustedProxies: ["127.0.0.1"], rateLimits: { perMinute: 0, authFailures: 20, shared: false } };
    const server = await startTestServer({ clock, settings, connection: database.connection });
    return new AuthorizationWorld(clock, database, server, await server.newTenant());
  }

  async close(): Promise<void> {
    await this.server.close();
    await this.#database.drop();
  }

  newProgram(): Program {
    return new Program(this.server, this.#newAddress());
  }

  /** A person with a session in a browser. */
  async newPerson(roles: readonly string[] = ["ADMIN"]): Promise<Person> {
    const { server, tenant } = this;
    const user = await activeUser(server, tenant, `${randomBytes(8).toString("hex")}@example.com`, roles);
    return new Person(server, user, await signInAs(server, tenant.id, user.id), this.#newAddress());
  }

  /** Another session of the person, in another browser. */
  async newSession({ user }: Person): Promise<Person> {
    const { server, tenant } = this;
    return new Person(server, user, await signInAs(server, tenant.id, user.id), this.#newAddress());
  }

  /** Signs a program in for a new person. */
  async signIn(roles?: readonly string[]) {
    const [program, person] = [this.newProgram(), await this.newPerson(roles)];
    const code = codeOf(await person.approve(program.request()));
    const { status, body } = await program.exchange(code);
    expect(status, JSON.stringify(body)).toBe(200);
    return { program, person, code, tokens: body };
  }

  usersWith(token: string): Promise<TestReply> {
    return this.server.client(undefined).get("/tenants/users", { authorization: `Bearer ${token}` });
  }

  async failuresOf(userId: string): Promise<readonly string[]> {
    const { body } = await this.tenant.client.must.get(
      `/tenants/sign-ins?filter[user.id]=${userId}&filter[outcome]=failed&limit=100`,
    );
    return body.data.map(({ reason }: { reason: string }) => reason);
  }

  #newAddress(): string {
    this.#addresses += 1;
    return `2001:db8:${this.#network}:${this.#addresses.toString(16)}::1`;
  }
}

/** A program that calls the endpoints of the authorization server. */
class Program {
  readonly verifier = randomBytes(32).toString("base64url");
  readonly state = randomBytes(16).toString("base64url");
  readonly #server: TestServer;
  address: string;

  constructor(server: TestServer, address: string) {
    this.#server = server;
    this.address = address;
  }

  /** The request that the program opens in the browser. */
  request(changes: Fields = {}): Record<string, string> {
    return {
      response_type: "code",
      client_id: "gatehouse-cli",
      redirect_uri: redirectUri,
      state: this.state,
      code_challenge: createHash("sha256").update(this.verifier).digest("base64url"),
      code_challenge_method: "S256",
      machine: "build-1",
      ...changes,
    };
  }

  async post(path: string, form: Fields | string, headers: object = {}): Promise<Answer> {
    const response = await this.#server.app.inject({
      method: "POST",
      url: path,
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        "x-forwarded-for": this.address,
        ...headers,
      },
      payload: typeof form === "string" ? form : new URLSearchParams(form).toString(),
    });
    expect(response.headers["cache-control"]).toBe("no-store");
    return { status: response.statusCode, body: response.json() };
  }

  exchange(code: string, changes: Fields = {}): Promise<Answer> {
    const form = { grant_type: "authorization_code", client_id: "gatehouse-cli", code, redirect_uri: redirectUri };
    return this.post("/oauth/token", { ...form, code_verifier: this.verifier, ...changes });
  }

  refresh(token: string, clientId = "gatehouse-cli"): Promise<Answer> {
    return this.post("/oauth/token", { grant_type: "refresh_token", client_id: clientId, refresh_token: token });
  }

  requestDevice(changes: Fields = {}): Promise<Answer> {
    return this.post("/oauth/device_authorization", { client_id: "gatehouse-cli", machine: "build-1", ...changes });
  }

  poll(deviceCode: string, clientId = "gatehouse-cli"): Promise<Answer> {
    return this.post("/oauth/token", { grant_type: deviceGrant, client_id: clientId, device_code: deviceCode });
  }
}

/** A person who answers programs in the console. */
class Person {
  readonly user: { readonly id: string; readonly email: string };
  readonly headers: PersonHeaders;
  readonly client: ReturnType<typeof personClient>;
  readonly #address: string;

  constructor(server: TestServer, user: Person["user"], headers: PersonHeaders, address: string) {
    this.user = user;
    this.headers = headers;
    this.client = personClient(server, headers);
    this.#address = address;
  }

  post(path: string, body: object, headers: Fields = {}): Promise<TestReply> {
    return this.client.send("POST", path, body, { "x-forwarded-for": this.#address, ...headers });
  }

  /** Answers a request of a program that opened the browser. */
  approve(request: object, approve = true): Promise<TestReply> {
    return this.post("/console/authorization", { request, approve });
  }

  /** Answers a request by the code that the program shows. */
  answer(code: string, approve = true): Promise<TestReply> {
    return this.post("/console/device-authorization", { code, approve });
  }
}

/** The authorization code in the address to which the browser is redirected. */
export function codeOf({ body, text }: TestReply): string {
  const code = new URL(body?.redirectTo ?? "about:blank").searchParams.get("code");
  expect(code, text).toBeTruthy();
  return code ?? "";
}
