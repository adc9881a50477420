/** Sign-in, groups, key rollover and sign-out with Debian's LemonLDAP::NG, a third-party provider. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Lemonldap, lemonldapClient, lemonldapProblem } from "../../testing/lemonldap.ts";
import { ProviderBrowser } from "../../testing/provider-browser.ts";
import { startTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";

if (lemonldapProblem !== undefined) console.warn(`Tests with LemonLDAP::NG are skipped: ${lemonldapProblem}.`);

describe.skipIf(lemonldapProblem !== undefined)("LemonLDAP::NG", () => {
  let lemonldap: Lemonldap;
  let server: TestServer;
  let tenant: TestTenant;
  let publicUrl = "";
  let provider: Readonly<Record<"id" | "signInUrl" | "redirectUri" | "postLogoutRedirectUri", string>>;

  beforeAll(async () => {
    lemonldap = await Lemonldap.create();
    server = await startTestServer({ settings: { providerNetworks: ["127.0.0.0/8"], publicUrl: () => publicUrl } });
    publicUrl = await server.listen();
    tenant = await server.newTenant();
    const { issuer } = lemonldap;
    const body = { name: "Login", issuer, ...lemonldapClient, scopes: ["email", "groups"], firstSignIn: "INVITED" };
    provider = (await tenant.client.must.post("/tenants/identity-providers", body)).body;
    await lemonldap.start(provider);
  });
  afterAll(async () => {
    await server?.close();
    await lemonldap?.remove();
  });

  /** The browser of a person with a demo account. */
  const browserOf = (name: string) =>
    new ProviderBrowser({ publicUrl, answers: { user: name, password: name, confirm: "1" } });

  const lastSignIn = async () => (await tenant.client.must.get("/tenants/sign-ins?sort=-createdAt")).body.data[0];

  test("signs in an invited person with mapped groups, survives an outage with new keys, and signs the person out", async () => {
    const path = `/tenants/identity-providers/${provider.id}`;
    const group = await tenant.client.must.post("/tenants/groups", { name: "Time lords", idpMapping: ["timelords"] });
    const user = (await tenant.client.must.post("/tenants/users", { email: "dwho@example.com" })).body;
    const { url } = (await tenant.client.must.post(`${path}/test`)).body;
    expect((await browserOf("dwho").open(url)).page).toContain("timelords");
    await tenant.client.must.patch(path, { enabled: true });

    const browser = browserOf("dwho");
    const arrived = await browser.open(provider.signInUrl);
    expect([arrived.url.origin, await browser.isSignedIn()]).toEqual([publicUrl, true]);
    expect(await lastSignIn()).toMatchObject({ outcome: "succeeded", user: { id: user.id } });
    const { body } = await tenant.client.must.get(`/tenants/users/${user.id}`);
    expect(body).toMatchObject({
      status: "active",
      groups: expect.arrayContaining([expect.objectContaining({ id: group.body.id })]),
    });

    // Without the provider, the session continues, and sign-in says why it refuses new ones.
    await lemonldap.stop();
    expect(await browser.isSignedIn()).toBe(true);
    expect((await browserOf("dwho").open(provider.signInUrl)).page).toContain("does not answer");
    await lemonldap.start(provider);
    // The provider has new keys, which are read at the sign-in, and asks nobody who has a session there.
    await browser.open(provider.signInUrl);
    expect(browser.formsSent).toBe(1);
    expect(await lastSignIn()).toMatchObject({ outcome: "succeeded", user: { id: user.id } });

    // The console ends its own session first. The provider then asks for the password again.
    const { formsSent } = browser;
    const left = await browser.open(`${provider.signInUrl}/sign-out`);
    expect(left.url.href).toBe(`${publicUrl}/console/`);
    await browser.open(provider.signInUrl);
    expect(browser.formsSent).toBe(formsSent + 1);
  });
});
