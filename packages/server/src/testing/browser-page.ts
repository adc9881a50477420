/** A page of the console: keeps cookies like a browser, and takes the steps of signing in. */
import { issueEnrolmentLinks } from "../features/enrolment-links/enrolment-links.api.ts";
import { runCommand } from "../platform/command.ts";
import { newId } from "../platform/ids.ts";
import { empty } from "../platform/outcome.ts";
import type { TestReply, TestServer } from "./test-server.ts";
import type { Deviations, VirtualPasskey } from "./virtual-passkey.ts";

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export class BrowserPage {
  readonly #server: TestServer;
  readonly #cookies = new Map<string, string>();

  constructor(server: TestServer) {
    this.#server = server;
  }

  /** The cookie with the session, or undefined. */
  get sessionCookie(): string | undefined {
    return this.#cookies.get("gatehouse_session");
  }

  setCookie(name: string, value: string): void {
    this.#cookies.set(name, value);
  }

  async send(method: Method, path: string, body?: unknown, headers: object = {}): Promise<TestReply> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await this.#server.app.inject({
      method,
      url: path,
      headers: {
        "sec-fetch-site": "same-origin",
        ...(cookie === "" ? {} : { cookie }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
    });
    for (const { name, value, maxAge } of response.cookies) {
      if (maxAge === 0) this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    const text = response.body;
    const isJson = String(response.headers["content-type"] ?? "").includes("json");
    return {
      status: response.statusCode,
      headers: Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, String(value)])),
      text,
      body: isJson && text !== "" ? JSON.parse(text) : undefined,
    };
  }

  get = (path: string): Promise<TestReply> => this.send("GET", path);
  post = (path: string, body?: unknown, headers: object = {}): Promise<TestReply> =>
    this.send("POST", path, body, headers);

  /** Opens an enrolment link and registers the passkey. */
  async enrol(token: string, passkey: VirtualPasskey, deviations?: Deviations): Promise<TestReply> {
    const begun = await this.post("/console/enrolment/options", { token });
    if (begun.status !== 200) return begun;
    const response = passkey.register(begun.body.options, deviations);
    return this.post("/console/enrolment", { token, name: "Laptop", response });
  }

  async signIn(passkey: VirtualPasskey, deviations?: Deviations): Promise<TestReply> {
    const { body } = await this.post("/console/sign-in/options");
    return this.post("/console/sign-in", { response: passkey.authenticate(body.options, deviations) });
  }

  /** Proves the person's presence again. */
  async stepUp(passkey: VirtualPasskey, deviations?: Deviations): Promise<TestReply> {
    const begun = await this.post("/console/account/authentication/options");
    if (begun.status !== 200) return begun;
    const response = passkey.authenticate(begun.body.options, deviations);
    return this.post("/console/account/authentication", { response });
  }

  /** Registers a further passkey. */
  async register(passkey: VirtualPasskey, deviations?: Deviations): Promise<TestReply> {
    const begun = await this.post("/console/account/passkeys/options");
    if (begun.status !== 200) return begun;
    const response = passkey.register(begun.body.options, deviations);
    return this.post("/console/account/passkeys", { name: "Phone", response });
  }
}

/** Makes an enrolment link for a user, as an administrator does. */
export async function enrolmentLinkFor(
  { runner }: TestServer,
  tenantId: string,
  user: { readonly id: string; readonly email: string },
): Promise<string> {
  const at = runner.clock.now();
  const origin = { actor: { type: "system", name: "Test" }, operation: "test", requestId: newId(), at } as const;
  let token = "";
  const command = { scope: { kind: "tenant", tenantId }, tenantId, origin, idempotency: undefined } as const;
  await runCommand(runner, command, async (tx) => {
    const options = { at, by: origin.actor, box: runner.secrets.enrolmentLinks };
    const [link] = await issueEnrolmentLinks(tx, [user], options);
    token = link?.token ?? "";
    return empty();
  });
  return token;
}
