/**
 * Relying-party modules of the OpenID conformance suite that the other tests do not cover. The table of all modules is
 * docs/decisions/0134-relying-party-conformance.md.
 */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { allowedNetworks } from "../../platform/outbound/outbound-networks.ts";
import { performExchange } from "../../platform/outbound/perform-exchange.ts";
import { HostileProvider } from "../../testing/hostile-provider.ts";
import { finishSignIn, type Provider, startSignIn } from "./relying-party.ts";

const access = {
  tenantId: "acme",
  networks: allowedNetworks(["127.0.0.0/8"]),
  exchange: performExchange,
  timeoutMs: 30_000,
};
let hostile: HostileProvider;

beforeAll(async () => {
  hostile = await HostileProvider.start();
});
beforeEach(() => {
  hostile.deviations = {};
  hostile.rotateKey();
});
afterAll(() => hostile.close());

async function signIn({ clientSecret = hostile.clientSecret } = {}) {
  const { issuer, clientId } = hostile;
  const provider: Provider = { issuer, clientId, clientSecret, scopes: ["email"], groupsClaim: "groups" };
  const redirectUri = "https://gatehouse.example.com/sign-in/callback";
  const started = await startSignIn(provider, access, { redirectUri });
  return finishSignIn(provider, access, hostile.approve(started.url), started.secrets);
}

const withoutKid = ({ kid: _, ...rest }: Record<string, unknown>) => rest;

test("oidcc-client-test-kid-absent-single-jwks: the only key verifies a token without a key id", async () => {
  hostile.deviations = { header: withoutKid, keys: (key) => [withoutKid(key)] };
  expect(await signIn()).toMatchObject({ subject: "subject-1" });
});

test("oidcc-client-test-kid-absent-multiple-jwks: a token without a key id is refused if several keys fit", async () => {
  hostile.deviations = {
    header: withoutKid,
    keys: (key) => [withoutKid(key), HostileProvider.otherPublicKey()],
  };
  await expect(signIn()).rejects.toMatchObject({ code: "token_invalid", message: expect.stringMatching(/key/) });
});

test("oidcc-client-test-idtoken-sig-es256 and -invalid-sig-es256: only the published key counts", async () => {
  hostile.rotateKey("ES256");
  expect(await signIn()).toMatchObject({ subject: "subject-1" });
  hostile.deviations = { signingKey: HostileProvider.otherKey("ES256") };
  await expect(signIn()).rejects.toMatchObject({ code: "token_invalid", message: expect.stringMatching(/signature/) });
});

test("oidcc-client-test-client-secret-basic and -userinfo-bearer-header: credentials are in headers only", async () => {
  await signIn();
  const { clientId, clientSecret } = hostile;
  const encoded = [clientId, clientSecret]
    .map((text) => new URLSearchParams({ a: text }).toString().slice(2))
    .join(":");
  expect(hostile.authorizations.get("/token")).toBe(`Basic ${Buffer.from(encoded).toString("base64")}`);
  expect(hostile.tokenRequests.at(-1)?.has("client_secret")).toBe(false);
  expect(hostile.authorizations.get("/userinfo")).toBe("Bearer access-token-of-the-provider");
});

test("a secret of unreserved characters is sent as it is, for providers that do not decode the header", async () => {
  await signIn({ clientSecret: "a-secret_with.all~four" });
  const header = hostile.authorizations.get("/token") ?? "";
  expect(Buffer.from(header.replace("Basic ", ""), "base64").toString()).toBe("gatehouse:a-secret_with.all~four");
});

test("oidcc-client-test-signing-key-rotation-just-before-signing: the keys are read after the token", async () => {
  hostile.deviations = {
    answer: (path) => {
      if (path === "/token") hostile.rotateKey();
      return false;
    },
  };
  expect(await signIn()).toMatchObject({ subject: "subject-1" });
});

test("the table of modules names tests that exist", () => {
  const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");
  const table = read("../../../../../docs/decisions/0134-relying-party-conformance.md");
  const rows = [...table.matchAll(/^\| `([\w-]+)` \| ([^|]+) \| (.+) \|$/gm)];
  expect(rows.length).toBeGreaterThanOrEqual(45);
  expect(new Set(rows.map(([, module]) => module)).size).toBe(rows.length);
  for (const [, module, file = "", title = ""] of rows) {
    if (file.trim() === "not used") continue;
    expect(read(`./${file.trim()}.test.ts`), module).toContain(title);
  }
});
