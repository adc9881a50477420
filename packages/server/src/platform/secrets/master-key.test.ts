import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createSecretBox, generateMasterKey, parseMasterKey } from "./master-key.ts";

const masterKey = Buffer.alloc(32, 1);
const context = "gateway:tenant:gateway";

describe("a secret box", () => {
  const box = createSecretBox(masterKey, "gateway-token");

  test("opens what it sealed", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(box.open(box.seal(text, context), context)).toBe(text);
      }),
    );
  });

  test("encrypts the same text differently each time, and never reveals it", () => {
    const [one, two] = [box.seal("the secret", context), box.seal("the secret", context)];
    expect(one.equals(two)).toBe(false);
    expect(one.includes("the secret")).toBe(false);
  });

  test("does not decrypt a text that was moved to another record", () => {
    expect(() => box.open(box.seal("secret", context), "gateway:tenant:other")).toThrow();
  });

  test("does not decrypt a text with any changed or missing byte", () => {
    const sealed = box.seal("secret", context);
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = Buffer.from(sealed);
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
      expect(() => box.open(changed, context)).toThrow();
      expect(() => box.open(sealed.subarray(0, at), context)).toThrow();
    }
  });

  test.each([
    ["another master key", createSecretBox(Buffer.alloc(32, 2), "gateway-token")],
    ["another purpose", createSecretBox(masterKey, "idempotent-reply")],
  ])("does not decrypt a text that was encrypted for %s", (_what, other) => {
    expect(() => box.open(other.seal("secret", context), context)).toThrow();
  });
});

describe("a master key", () => {
  test("that was generated can be read", () => {
    expect(parseMasterKey(generateMasterKey())).toHaveLength(32);
  });

  test("can lack its padding", () => {
    expect(parseMasterKey(masterKey.toString("base64").replace("=", ""))).toEqual(masterKey);
  });

  test.each([
    ["empty", ""],
    ["too short", Buffer.alloc(31).toString("base64")],
    ["too long", Buffer.alloc(33).toString("base64")],
    ["not base64", "!".repeat(44)],
    ["with a line break", `${masterKey.toString("base64")}\n`],
  ])("that is %s is rejected", (_what, text) => {
    expect(parseMasterKey(text)).toBeUndefined();
  });
});
