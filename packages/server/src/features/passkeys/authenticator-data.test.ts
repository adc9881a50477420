/** Sizes of authenticator data, and outputs of extensions in it. */
import { afterAll, beforeAll, expect, test } from "vitest";
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

/** The map {"credProtect": 3} in CBOR: Chromium requests it without being asked. */
const credProtect = Buffer.concat([Buffer.from([0xa1, 0x6b]), Buffer.from("credProtect"), Buffer.from([0x03])]);
/** An array of texts with one character each in CBOR: costly to decode. */
const manyTexts = (count: number) =>
  Buffer.concat([Buffer.from([0x99, count >> 8, count & 0xff]), Buffer.from("61".repeat(2 * count), "hex")]);

async function enrolled(extensions?: Buffer) {
  const user = await activeUser(server, tenant, uniqueEmail(), ["ADMIN"]);
  const [page, passkey] = [new BrowserPage(server), new VirtualPasskey(origin)];
  const link = await enrolmentLinkFor(server, tenant.id, user);
  const reply = await page.enrol(link, passkey, extensions === undefined ? {} : { extensions });
  return { user, page, passkey, reply };
}

const reasonsOf = async (userId: string) => {
  const { body } = await tenant.client.must.get(`/tenants/sign-ins?filter[user.id]=${userId}`);
  return body.data.map(({ reason }: { reason?: string }) => reason);
};

/** A text of 256 to 65,535 bytes in CBOR. */
const longText = (bytes: number) =>
  Buffer.concat([Buffer.from([0x79, (bytes - 3) >> 8, (bytes - 3) & 0xff]), Buffer.alloc(bytes - 3, "a")]);
/** The bytes of authenticator data without extensions (WebAuthn, section 6.1). */
const fixedBytes = 37;

test.each([
  ["credProtect", credProtect],
  ["1,024 bytes together", longText(1_024 - fixedBytes)],
])("a sign-in and a confirmation with small extensions are accepted: %s", async (_, extensions) => {
  const { page, passkey } = await enrolled();
  expect((await new BrowserPage(server).signIn(passkey, { extensions })).status).toBe(201);
  expect((await page.stepUp(passkey, { extensions })).status).toBe(204);
});

test.each([
  ["1,025 bytes together", longText(1_025 - fixedBytes)],
  ["11,400 texts", manyTexts(11_400)],
])("a sign-in and a confirmation with large extensions are refused: %s", async (_, extensions) => {
  const { user, page, passkey } = await enrolled();
  const reason = "the authenticator data is longer than 1024 bytes";
  const refused = { status: 401, body: { code: "sign_in_failed" } };
  expect(await new BrowserPage(server).signIn(passkey, { extensions })).toMatchObject(refused);
  expect(await reasonsOf(user.id)).toContain(reason);
  expect((await page.stepUp(passkey, { extensions })).status).toBe(401);
  expect((await new BrowserPage(server).signIn(passkey)).status).toBe(201);
});

test("a registration with a large attestation is refused, with a link and with a session", async () => {
  const detail = expect.stringContaining("the attestation is longer than 4096 bytes");
  const refused = { status: 422, body: { code: "passkey_not_accepted", detail } };
  const extensions = manyTexts(2_000);
  expect((await enrolled(extensions)).reply).toMatchObject(refused);
  const { page } = await enrolled();
  expect(await page.register(new VirtualPasskey(origin), { extensions })).toMatchObject(refused);
});

test("a registration with an extension that the browser has requested is accepted", async () => {
  const { passkey, reply } = await enrolled(credProtect);
  expect(reply.status, reply.text).toBe(201);
  expect((await new BrowserPage(server).signIn(passkey)).status).toBe(201);
});
