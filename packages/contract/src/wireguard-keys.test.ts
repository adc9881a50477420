import { createPublicKey, diffieHellman, generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { isLowOrderKey } from "./wireguard-keys.ts";

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
