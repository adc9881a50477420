/** The hashes and signatures of configurations (RFC 8032), as the contract's machines want them. */
import { createHash, createPublicKey, verify } from "node:crypto";

/** What stands before a key's bytes in SubjectPublicKeyInfo (RFC 8410). */
const ed25519Prefix = Buffer.from("302a300506032b6570032100", "hex");

/** Whether a text can be a key that signs configurations. */
export function isSigningKey(text: string): boolean {
  return /^[A-Za-z0-9+/]{43}=$/.test(text);
}

/** @returns lower-case hexadecimal */
export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Whether a signature (base64) of a text's UTF-8 is by a key (base64). */
export function isSignedBy(text: string, signature: string, signingKey: string): boolean {
  const der = Buffer.concat([ed25519Prefix, Buffer.from(signingKey, "base64")]);
  const key = createPublicKey({ key: der, format: "der", type: "spki" });
  return verify(null, Buffer.from(text), key, Buffer.from(signature, "base64"));
}
