import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import { AppError } from "../app-error.ts";

const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

/**
 * Encrypts secrets that Gatehouse must be able to show again: gateway tokens and stored replies. AES-256-GCM (NIST SP
 * 800-38D) with a key for each purpose derived from the master key (HKDF, RFC 5869), a random nonce, and the record's
 * identity as additional data. A ciphertext that is moved to another row therefore does not decrypt.
 */
export interface SecretBox {
  /** @param context the owner of the secret, such as `gateway:<tenant>:<id>` */
  seal(plaintext: string, context: string): Buffer;
  /** @throws AppError secret_unreadable: the ciphertext was changed, moved, or encrypted with another master key */
  open(ciphertext: Buffer, context: string): string;
}

export type SecretPurpose =
  | "acme-key"
  | "audit-key"
  | "enrolment-link"
  | "gateway-token"
  | "idempotent-reply"
  | "master-key-check"
  | "provider-secret"
  | "sign-in-challenge"
  | "signing-key"
  | "webhook-secret";

/**
 * Parses a master key.
 *
 * @param text 32 bytes in base64
 * @returns undefined for any other text
 */
export function parseMasterKey(text: string): Buffer | undefined {
  const key = Buffer.from(text, "base64");
  return key.length === keyBytes && key.toString("base64").replace(/=+$/, "") === text.replace(/=+$/, "")
    ? key
    : undefined;
}

/** Generates a master key in base64. */
export function generateMasterKey(): string {
  return randomBytes(keyBytes).toString("base64");
}

/** The master keys of an installation. Each has 32 bytes. */
export interface MasterKeys {
  /** Encrypts, and decrypts. */
  readonly current: Buffer;
  /** Only decrypts, during a rotation: the previous key, or the next one. */
  readonly second?: Buffer | undefined;
}

/**
 * Creates the box of a purpose.
 *
 * @param masterKeys the keys, or the only one
 * @param purpose of the box; boxes of different purposes cannot decrypt each other's secrets
 */
export function createSecretBox(masterKeys: MasterKeys | Buffer, purpose: SecretPurpose): SecretBox {
  const { current, second }: MasterKeys = Buffer.isBuffer(masterKeys) ? { current: masterKeys } : masterKeys;
  const box = boxOf(current, purpose);
  const other = second === undefined ? undefined : boxOf(second, purpose);
  const openWithAny = (ciphertext: Buffer, context: string) => {
    if (other === undefined) return box.open(ciphertext, context);
    try {
      return box.open(ciphertext, context);
    } catch {
      return other.open(ciphertext, context);
    }
  };
  return {
    seal: box.seal,
    open(ciphertext, context) {
      try {
        return openWithAny(ciphertext, context);
      } catch (error) {
        const cause = new Error(`no master key decrypts the ${purpose} of ${context}`, { cause: error });
        throw new AppError("secret_unreadable", { cause });
      }
    },
  };
}

const checkContext = "installation";

/** The known text that reveals a start with the wrong master key, and its associated data. */
export const masterKeyCheck = { text: "gatehouse", context: checkContext } as const;

/** @returns the key that the known text is encrypted with; undefined: neither */
export function masterKeyThatOpens({ current, second }: MasterKeys, check: Buffer): Buffer | undefined {
  return [current, second].find((key) => {
    if (key === undefined) return false;
    try {
      boxOf(key, "master-key-check").open(check, checkContext);
      return true;
    } catch {
      return false;
    }
  });
}

/**
 * Derives the key of one file.
 *
 * @param subject the owner and kind of the contents
 * @param salt random bytes, so that no two files have the same key
 */
export function deriveFileKey(masterKey: Buffer, subject: string, salt: Buffer): Buffer {
  return Buffer.from(hkdfSync("sha256", masterKey, salt, `gatehouse/file/v1/${subject}`, keyBytes));
}

function boxOf(masterKey: Buffer, purpose: SecretPurpose): SecretBox {
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
