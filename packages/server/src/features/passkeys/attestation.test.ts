import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { BrowserPage, enrolmentLinkFor } from "../../testing/browser-page.ts";
import { revocableCertificates } from "../../testing/certificates.ts";
import { uniqueEmail } from "../../testing/operations/test-records.ts";
import { activeUser } from "../../testing/signed-in-person.ts";
import { startTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { type Attestation, VirtualPasskey } from "../../testing/virtual-passkey.ts";

const origin = "http://localhost:8080";
const maxFailures = 3;
let server: TestServer;
let tenant: TestTenant;
/** Would request the URL that a certificate names. */
const canary = vi.spyOn(globalThis, "fetch");
beforeAll(async () => {
  server = await startTestServer();
});
beforeEach(async () => {
  tenant = await server.newTenant();
});
afterEach(() => {
  expect(canary).not.toHaveBeenCalled();
  canary.mockClear();
});
afterAll(async () => {
  canary.mockRestore();
  await server.close();
});

const linkOfNewUser = async (on: TestServer, of: TestTenant) =>
  enrolmentLinkFor(on, of.id, await activeUser(on, of, uniqueEmail(), ["ADMIN"]));

const formats = ["fido-u2f", "packed", "android-safetynet", "android-key", "tpm", "apple", "compound", ""];
const withCertificates: readonly Attestation[] = formats.map((format) => ({
  format,
  certificates: revocableCertificates,
}));

describe.each(withCertificates)("an attestation of the format $format with certificates", (attestation) => {
  const refused = { status: 422, body: { code: "passkey_not_accepted", detail: expect.stringContaining("format") } };

  test("is refused to an enrolment link, without a request to the URLs that the certificates name", async () => {
    const page = new BrowserPage(server);
    const link = await linkOfNewUser(server, tenant);
    expect(await page.enrol(link, new VirtualPasskey(origin), { attestation })).toMatchObject(refused);
    // The person can try again with another authenticator.
    expect((await page.enrol(link, new VirtualPasskey(origin))).status).toBe(201);
  });

  test("is refused to a signed-in person", async () => {
    const page = new BrowserPage(server);
    await page.enrol(await linkOfNewUser(server, tenant), new VirtualPasskey(origin));
    expect(await page.register(new VirtualPasskey(origin), { attestation })).toMatchObject(refused);
  });
});

test.each(["android-key", "apple", "tpm", "fido-u2f"])(
  "the format %s is refused without certificates",
  async (format) => {
    const passkey = new VirtualPasskey(origin);
    const link = await linkOfNewUser(server, tenant);
    const reply = await new BrowserPage(server).enrol(link, passkey, { attestation: { format } });
    expect(reply).toMatchObject({ status: 422, body: { code: "passkey_not_accepted" } });
  },
);

test("a passkey that signs its own statement is accepted, because browsers leave such statements unchanged", async () => {
  const [page, passkey] = [new BrowserPage(server), new VirtualPasskey(origin)];
  const link = await linkOfNewUser(server, tenant);
  const reply = await page.enrol(link, passkey, { attestation: { format: "packed" } });
  expect(reply.status, reply.text).toBe(201);
  expect((await new BrowserPage(server).signIn(passkey)).status).toBe(201);
});

test("refused passkeys count as failed authentications of the address, with and without a session", async () => {
  const limited = await startTestServer({
    settings: { rateLimits: { perMinute: 0, authFailures: maxFailures, shared: false } },
  });
  try {
    const of = await limited.newTenant();
    const [page, anonymous] = [new BrowserPage(limited), new BrowserPage(limited)];
    await page.enrol(await linkOfNewUser(limited, of), new VirtualPasskey(origin));
    const attestation = { format: "apple", certificates: revocableCertificates };
    const refused = { body: { code: "passkey_not_accepted" } };
    const link = await linkOfNewUser(limited, of);
    expect(await page.register(new VirtualPasskey(origin), { attestation })).toMatchObject(refused);
    for (let tries = 1; tries < maxFailures; tries += 1) {
      expect(await anonymous.enrol(link, new VirtualPasskey(origin), { attestation })).toMatchObject(refused);
    }
    const blocked = { body: { code: "too_many_failed_authentications" } };
    expect(await anonymous.enrol(link, new VirtualPasskey(origin))).toMatchObject(blocked);
    // From the same address, the person's session goes on.
    expect((await page.get("/tenants/users")).status).toBe(200);
  } finally {
    await limited.close();
  }
});
