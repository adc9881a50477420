import { createPrivateKey, createPublicKey, generateKeyPairSync } from "node:crypto";
import { readIfExists, writePrivateFile } from "../state/private-file.ts";

/** The prefix of the 32 bytes of an X25519 private key in PKCS #8 (RFC 8410). */
const x25519Prefix = Buffer.from("302e020100300506032b656e04220420", "hex");
const keyBytes = 32;

/**
 * Returns the public key of the private key in a file. Creates the file if it does not exist.
 *
 * @returns base64
 */
export async function publicKeyOf(privateKeyFile: string): Promise<string> {
  let text = await readIfExists(privateKeyFile);
  if (text === undefined) {
    const { privateKey } = generateKeyPairSync("x25519");
    text = privateKey.export({ format: "der", type: "pkcs8" }).subarray(-keyBytes).toString("base64");
    await writePrivateFile(privateKeyFile, `${text}\n`);
  }
  const bytes = Buffer.from(text.trim(), "base64");
  if (bytes.length !== keyBytes) {
    throw new Error(
      `${privateKeyFile} does not contain a WireGuard private key. Restore the file, or empty the folder to set up the machine with a new key.`,
    );
  }
  const key = createPrivateKey({ key: Buffer.concat([x25519Prefix, bytes]), format: "der", type: "pkcs8" });
  return createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-keyBytes).toString("base64");
}
