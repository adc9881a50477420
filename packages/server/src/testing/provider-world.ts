/** A tenant with identity providers, and browsers that sign in with them. */
import { expect } from "vitest";
import type { HostileProvider } from "./hostile-provider.ts";
import type { TestServer, TestTenant } from "./test-server.ts";

/** The public address of servers in tests of sign-ins. */
export const providerTestUrl = "http://localhost:8080";

type Reply = Awaited<ReturnType<TestServer["app"]["inject"]>>;

export class ProviderWorld<Tenant extends Pick<TestTenant, "client"> = TestTenant> {
  readonly server: TestServer;
  readonly tenant: Tenant;
  readonly hostile: HostileProvider;

  /** @param server with the public address above, and the loopback network as a network of providers */
  constructor(server: TestServer, tenant: Tenant, hostile: HostileProvider) {
    this.server = server;
    this.tenant = tenant;
    this.hostile = hostile;
  }

  async provider(settings: object = {}) {
    const { issuer, clientId, clientSecret } = this.hostile;
    const body = { name: "Provider", issuer, clientId, clientSecret, ...settings };
    return (await this.tenant.client.must.post("/tenants/identity-providers", body)).body;
  }

  async enabledProvider(settings: object = {}) {
    const { id } = await this.provider(settings);
    const path = `/tenants/identity-providers/${id}`;
    const { body } = await this.tenant.client.must.post(`${path}/test`);
    expect((await this.visit(body.url)).statusCode).toBe(200);
    return (await this.tenant.client.must.patch(path, { enabled: true })).body;
  }

  /** A browser that opens the address, signs in at the provider, and returns. @param cookie that the browser has */
  async visit(url: string, cookie?: string): Promise<Reply> {
    const departed = await this.open(url, cookie);
    if (departed.statusCode !== 302) return departed;
    const callback = this.hostile.approve(new URL(String(departed.headers.location)));
    return this.server.app.inject({
      method: "GET",
      url: pathOf(callback.href),
      headers: { cookie: String(departed.headers["set-cookie"]).split(";", 1)[0] ?? "" },
    });
  }

  open(url: string, cookie?: string): Promise<Reply> {
    const headers = { host: "localhost:8080", "sec-fetch-site": "none", ...(cookie === undefined ? {} : { cookie }) };
    return this.server.app.inject({ method: "GET", url: pathOf(url), headers });
  }

  /** The cookie of the session that a sign-in began. */
  async signIn(url: string): Promise<string> {
    const session = sessionOf(await this.visit(url));
    return session ?? expect.fail("no session began");
  }

  /** Whether the session continues. */
  async isSignedIn(cookie: string): Promise<boolean> {
    return (await this.session(cookie)) !== undefined;
  }

  /** The description of the session; undefined if it has ended. */
  async session(cookie: string) {
    const reply = await this.server.app.inject({
      method: "GET",
      url: "/console/session",
      headers: { cookie, "sec-fetch-site": "same-origin", host: "localhost" },
    });
    return reply.statusCode === 200 ? reply.json() : undefined;
  }

  async invite(email: string): Promise<string> {
    return (await this.tenant.client.must.post("/tenants/users", { email })).body.id;
  }

  async signIns() {
    return (await this.tenant.client.must.get("/tenants/sign-ins?sort=-createdAt")).body.data;
  }
}

/** The cookie of the session that a reply began; undefined if it began none. */
export function sessionOf(reply: { readonly headers: Readonly<Record<string, unknown>> }): string | undefined {
  const cookies = [reply.headers["set-cookie"] ?? []].flat().map(String);
  return cookies
    .map((cookie) => /^gatehouse_session=[^;]+/.exec(cookie)?.[0])
    .find((cookie) => cookie !== undefined && cookie !== "gatehouse_session=");
}

function pathOf(url: string): string {
  const { pathname, search } = new URL(url);
  return `${pathname}${search}`;
}
