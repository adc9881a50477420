/** Passkeys are neither registered nor used in frames of other sites. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BrowserPage, enrolmentLinkFor } from "../../testing/browser-page.ts";
import { uniqueEmail } from "../../testing/operations/test-records.ts";
import { activeUser } from "../../testing/signed-in-person.ts";
import { startTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { VirtualPasskey } from "../../testing/virtual-passkey.ts";

const origin = "http://localhost:8080";
let server: TestServer;
let tenant: TestTenant;
beforeAll(async () => {
  server = await startTestServer();
  tenant = await server.newTenant();
});
afterAll(() => server.close());

const newUser = () => activeUser(server, tenant, uniqueEmail(), ["ADMIN"]);

// Some browsers do not name the outermost page.
describe.each([
  ["a frame of another site", { crossOrigin: true, topOrigin: "https://example.net" }],
  ["a frame of an unnamed site", { crossOrigin: true }],
  ["a page with another outermost page", { topOrigin: "https://example.net" }],
])("in %s", (_, framed) => {
  test("no passkey is registered, with a link or with a session", async () => {
    const user = await newUser();
    const page = new BrowserPage(server);
    const refused = { status: 422, body: { code: "passkey_not_accepted" } };
    const first = new VirtualPasskey(origin);
    const link = await enrolmentLinkFor(server, tenant.id, user);
    expect(await page.enrol(link, first, framed)).toMatchObject(refused);
    expect((await page.enrol(link, first)).status).toBe(201);
    expect(await page.register(new VirtualPasskey(origin), framed)).toMatchObject(refused);
  });

  test("nobody signs in or confirms", async () => {
    const [page, passkey] = [new BrowserPage(server), new VirtualPasskey(origin)];
    await page.enrol(await enrolmentLinkFor(server, tenant.id, await newUser()), passkey);
    expect(await page.stepUp(passkey, framed)).toMatchObject({ status: 401 });
    expect(await new BrowserPage(server).signIn(passkey, framed)).toMatchObject({ status: 401 });
    expect((await page.stepUp(passkey)).status).toBe(204);
  });
});
