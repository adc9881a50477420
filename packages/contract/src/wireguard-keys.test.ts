import { createPublicKey, diffieHellman, generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { canonicalKey, isLowOrderKey, keyWeakness } from "./wireguard-keys.ts";

const prefix = Buffer.from("302a300506032b656e032100", "hex");
/** Whether X25519 accepts the key. OpenSSL refuses shared secrets of zero. */
function isUsable(key: Buffer): boolean {
  const publicKey = createPublicKey({ key: Buffer.concat([prefix, key]), format: "der", type: "spki" });
  try {
    diffieHellman({ privateKey: generateKeyPairSync("x25519").privateKey, publicKey });
    return true;
  } catch {
    return false;
  }
}

describe("low-order keys", () => {
  test.each([
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b880",
  ])("include %s", (hex) => {
    const key = Buffer.from(hex, "hex");
    expect(isUsable(key)).toBe(false);
    expect(isLowOrderKey(key.toString("base64"))).toBe(true);
  });

  test("exclude generated keys", () => {
    for (let round = 0; round < 100; round++) {
      const { publicKey } = generateKeyPairSync("x25519");
      const key = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
      expect(isUsable(key)).toBe(true);
      expect(isLowOrderKey(key.toString("base64"))).toBe(false);
    }
  });
});

describe("encodings of a key", () => {
  const { privateKey } = generateKeyPairSync("x25519");
  const secretWith = (key: Buffer) =>
    diffieHellman({
      privateKey,
      publicKey: createPublicKey({ key: Buffer.concat([prefix, key]), format: "der", type: "spki" }),
    });
  /** 2^255-19 plus a small number, in little-endian bytes. */
  const unreduced = (value: number) => Buffer.concat([Buffer.of(0xed + value), Buffer.alloc(30, 255), Buffer.of(0x7f)]);
  const withHighestBit = (key: Buffer) => Buffer.concat([key.subarray(0, 31), Buffer.of((key[31] ?? 0) | 0x80)]);

  test("of generated keys are canonical", () => {
    for (let round = 0; round < 100; round++) {
      const { publicKey } = generateKeyPairSync("x25519");
      const key = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
      expect(keyWeakness(key.toString("base64"))).toBeUndefined();
      const alias = withHighestBit(key);
      expect(secretWith(alias)).toEqual(secretWith(key));
      expect(keyWeakness(alias.toString("base64"))).toBe("not_canonical");
      expect(canonicalKey(alias.toString("base64"))).toBe(key.toString("base64"));
    }
  });

  test("that are not reduced have the point of the reduced one", () => {
    for (let value = 0; value < 19; value++) {
      const reduced = Buffer.concat([Buffer.of(value), Buffer.alloc(31)]);
      for (const alias of [unreduced(value), withHighestBit(unreduced(value)), withHighestBit(reduced)]) {
        expect(canonicalKey(alias.toString("base64"))).toBe(reduced.toString("base64"));
        expect(keyWeakness(alias.toString("base64"))).toBe(value < 2 ? "low_order" : "not_canonical");
        if (value >= 2) expect(secretWith(alias)).toEqual(secretWith(reduced));
      }
      expect(keyWeakness(reduced.toString("base64"))).toBe(value < 2 ? "low_order" : undefined);
    }
  });

  test("below 2^255-19 are canonical", () => {
    const largest = Buffer.concat([Buffer.of(0xeb), Buffer.alloc(30, 255), Buffer.of(0x7f)]).toString("base64");
    expect(keyWeakness(largest)).toBeUndefined();
  });
});
