import { validateCertificatePath } from "@simplewebauthn/server/helpers";
import { expect, onTestFinished, test, vi } from "vitest";
import { revocableCertificates } from "../../testing/certificates.ts";
import { forbidGlobalFetch } from "./forbid-global-fetch.ts";

test("a library that would request a URL of a client sends nothing", async () => {
  const original = vi.fn<typeof fetch>(async () => new Response("no list"));
  vi.stubGlobal("fetch", original);
  onTestFinished(() => {
    vi.unstubAllGlobals();
  });
  const pem = (der: Buffer) => `-----BEGIN CERTIFICATE-----\n${der.toString("base64")}\n-----END CERTIFICATE-----\n`;
  const [leaf, authority] = revocableCertificates.map(pem);
  const path = [[leaf ?? ""], [authority ?? ""]] as const;
  await validateCertificatePath([...path[0]], [...path[1]]);
  expect(original.mock.calls.map(([url]) => url)).toEqual(["http://127.0.0.1:9/crl"]);
  forbidGlobalFetch();
  await validateCertificatePath([...path[0]], [...path[1]]).catch(() => undefined);
  expect(original).toHaveBeenCalledTimes(1);
  await expect(fetch("http://127.0.0.1:9/")).rejects.toThrow("Use platform/outbound");
});
