import { createPrivateKey, createPublicKey, generateKeyPairSync } from "node:crypto";
import { readIfThere, writePrivateFile } from "../state/private-file.ts";

/** Before the 32 bytes of a private key of X25519 in PKCS #8 (RFC 8410). */
const x25519Prefix = Buffer.from("302e020100300506032b656e04220420", "hex");
const keyBytes = 32;

/**
 * The public key to the private one in a file, which is made where there is none.
 *
 * @returns base64
 */
export async function publicKeyOf(privateKeyFile: string): Promise<string> {
  let text = await readIfThere(privateKeyFile);
  if (text === undefined) {
    const { privateKey } = generateKeyPairSync("x25519");
    text = privateKey.export({ format: "der", type: "pkcs8" }).subarray(-keyBytes).toString("base64");
    await writePrivateFile(privateKeyFile, `${text}\n`);
  }
  const bytes = Buffer.from(text.trim(), "base64");
  if (bytes.length !== keyBytes) {
    throw new Error(
      `${privateKeyFile} holds no private key of WireGuard. Restore it; or, for a new key, empty the folder, as for a machine that is set up anew.`,
    );
  }
  const key = createPrivateKey({ key: Buffer.concat([x25519Prefix, bytes]), format: "der", type: "pkcs8" });
  return createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-keyBytes).toString("base64");
}
