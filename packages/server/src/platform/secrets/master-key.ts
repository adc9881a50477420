import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

/**
 * Encrypts what Gatehouse must be able to show again: gateway tokens, stored replies. AES-256-GCM (NIST SP 800-38D) with
 * a key for each purpose derived from the master key (HKDF, RFC 5869), a random nonce, and the record's identity as
 * additional data, so that a ciphertext moved to another row does not decrypt.
 */
export interface SecretBox {
  /** @param context what the secret belongs to, such as `gateway:<tenant>:<id>` */
  seal(plaintext: string, context: string): Buffer;
  /** @throws when the ciphertext was changed, moved, or made under another master key */
  open(ciphertext: Buffer, context: string): string;
}

export type SecretPurpose =
  | "gateway-token"
  | "idempotent-reply"
  | "master-key-check"
  | "signing-key"
  | "webhook-secret";

/**
 * @param text 32 bytes in base64
 * @returns the key, or undefined when the text is something else
 */
export function parseMasterKey(text: string): Buffer | undefined {
  const key = Buffer.from(text, "base64");
  return key.length === keyBytes && key.toString("base64").replace(/=+$/, "") === text.replace(/=+$/, "")
    ? key
    : undefined;
}

/** Makes a new master key, in base64. */
export function generateMasterKey(): string {
  return randomBytes(keyBytes).toString("base64");
}

/**
 * @param masterKey 32 bytes
 * @param purpose what the box is for; boxes of different purposes cannot open each other's secrets
 */
export function createSecretBox(masterKey: Buffer, purpose: SecretPurpose): SecretBox {
  const key = Buffer.from(hkdfSync("sha256", masterKey, "", `gatehouse/${purpose}/v1`, keyBytes));
  return {
    seal(plaintext, context) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(context));
      const sealed = Buffer.concat([cipher.update(plaintext, "utf8"), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
    },
    open(ciphertext, context) {
      const nonce = ciphertext.subarray(0, nonceBytes);
      const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: tagBytes })
        .setAAD(Buffer.from(context))
        .setAuthTag(ciphertext.subarray(nonceBytes, nonceBytes + tagBytes));
      const sealed = ciphertext.subarray(nonceBytes + tagBytes);
      return Buffer.concat([decipher.update(sealed), decipher.final()]).toString("utf8");
    },
  };
}
