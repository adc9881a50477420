import { createHash, generateKeyPairSync, sign, verify } from "node:crypto";
import canonicalize from "canonicalize";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { budgeted } from "../../../../test/budget.ts";
import { canonicalJson, type JsonValue } from "../link/canonical-json.ts";
import { configurationName } from "../link/envelope.ts";
import { randomContent } from "../testing/random-content.ts";
import type { ConfigurationContent } from "./configuration.ts";
import { applyDifference, contentOf, contentRoot, contentTreeOf, differenceBetween } from "./content-tree.ts";
import { type EnvelopeExpectation, envelopeFault, signedText } from "./envelope.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

test("canonical JSON follows RFC 8785 and equals another program's output", () => {
  const text = fc.string({ unit: "binary" });
  const value = fc.anything({
    key: text,
    values: [fc.maxSafeInteger(), text, fc.boolean(), fc.constant(null)],
  });
  fc.assert(
    // The generated value is JSON, but the library's type does not say so.
    fc.property(value, (json) => canonicalJson(json as JsonValue) === canonicalize(json)),
  );
});

test.each([0.5, 1e21, 2 ** 53, -(2 ** 53), Number.NaN])("the number %d is not hashed", (number) => {
  expect(() => canonicalJson({ a: number })).toThrow(RangeError);
});

describe("the difference of two contents", () => {
  test("leads from one content to the other, as the root proves", () => {
    fc.assert(
      fc.property(randomContent, randomContent, (one, other) => {
        const before = contentTreeOf(one);
        const after = contentTreeOf(other);
        // Serialized and parsed, like a difference that arrives over the link.
        const difference = JSON.parse(JSON.stringify(differenceBetween(before, after, sha256)));
        const led = applyDifference(before, difference);
        expect(contentRoot(led, sha256)).toBe(contentRoot(after, sha256));
        expect(contentOf(led)).toEqual(withoutEmptyClasses(other));
      }),
      { numRuns: budgeted(200, 20) },
    );
  });

  test("grows with the change, not with the content", () => {
    const members = (count: number) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, index) => [`100.64.${index >> 8}.${index & 255}`, true as const]),
      );
    const content = (count: number): ConfigurationContent => ({
      settings: {
        interface: { listenPort: 51820, ipv4: "100.127.255.254", ipv6: "fd00::1", pools: ["100.64.0.0/10"] },
        dns: { resolvers: [], domains: [] },
      },
      peers: {},
      classes: { "group/a": members(count) },
      resources: {},
      destinations: {},
    });
    const difference = differenceBetween(contentTreeOf(content(20_000)), contentTreeOf(content(20_001)), sha256);
    expect(JSON.stringify(difference).length).toBeLessThan(120);
  });
});

describe("an envelope", () => {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const signingKey = publicKey.export({ type: "spki", format: "der" }).subarray(-32).toString("base64");
  const functions = {
    sha256,
    verify: (text: string, signature: string, key: string) =>
      key === signingKey && verify(null, Buffer.from(text), publicKey, Buffer.from(signature, "base64")),
  };
  const header = {
    format: 1,
    tenant: "01980000-0000-7000-8000-000000000001",
    gateway: "01980000-0000-7000-8000-000000000002",
    generation: 7,
    issuedAt: 1000,
    expiresAt: 2000,
    root: sha256(""),
  };
  const sealed = (fields: Partial<typeof header> = {}) => {
    const whole = { ...header, ...fields };
    const text = signedText(configurationName(whole, sha256));
    return { header: whole, signature: sign(null, Buffer.from(text), privateKey).toString("base64") };
  };
  const expected: EnvelopeExpectation = {
    gateway: header.gateway,
    tenant: header.tenant,
    signingKey,
    latest: undefined,
    now: 1500,
  };
  const named = (fields: Partial<typeof header> = {}) => configurationName({ ...header, ...fields }, sha256);

  test.each([
    ["as it was made", sealed(), expected, undefined],
    ["with another generation", { ...sealed(), header: { ...header, generation: 8 } }, expected, "forged"],
    ["by another key", sealed(), { ...expected, signingKey: "other" }, "forged"],
    ["for another gateway", sealed({ gateway: header.tenant }), expected, "forged"],
    ["of another tenant", sealed({ tenant: header.gateway }), expected, "forged"],
    ["of another format", sealed({ format: 2 }), expected, "unknown_format"],
    ["at its end", sealed(), { ...expected, now: 2000 }, "expired"],
    ["once more", sealed(), { ...expected, latest: named() }, undefined],
    ["after a later generation", sealed(), { ...expected, latest: named({ generation: 8 }) }, "replayed"],
    ["after one issued later", sealed(), { ...expected, latest: named({ issuedAt: 1001 }) }, "replayed"],
    [
      "of the same order and other content",
      sealed({ root: sha256("x") }),
      { ...expected, latest: named() },
      "replayed",
    ],
    ["after one issued earlier", sealed(), { ...expected, latest: named({ issuedAt: 999 }) }, undefined],
    [
      "after an earlier generation",
      sealed(),
      { ...expected, latest: named({ generation: 6, issuedAt: 9000 }) },
      undefined,
    ],
  ] as const)("%s", (_, envelope, expectation, fault) => {
    expect(envelopeFault(envelope, expectation, functions)).toBe(fault);
  });
});

function withoutEmptyClasses(content: ConfigurationContent): ConfigurationContent {
  const classes = Object.entries(content.classes).filter(([, members]) => Object.keys(members).length > 0);
  return { ...content, classes: Object.fromEntries(classes) };
}
