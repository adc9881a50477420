/**
 * Signed statements about a tenant's chain, in Ed25519 (RFC 8032). The key is derived from the master key, so it is not
 * in the database. Write access to the database without the master key is not enough to sign a statement.
 */
import { createPrivateKey, createPublicKey, hkdfSync, type KeyObject, sign, verify } from "node:crypto";
import canonicalize from "canonicalize";

/**
 * `checkpoint`: this is the chain's head. `stub`: everything up to here was pruned. `export`: an export ends here, and
 * its content has this `contentHash`.
 */
export type StatementKind = "checkpoint" | "stub" | "export";

/** A place in a tenant's chain: the last entry of a seal. */
export interface ChainPlace {
  readonly position: number;
  readonly generation: number;
  /** The seal's hash, in hexadecimal. */
  readonly hash: string;
}

export interface Signed extends ChainPlace {
  /** The time of signing, in ISO 8601. */
  readonly createdAt: string;
  /** The SHA-256 of every byte of an export before its last line, in hexadecimal. Only for exports. */
  readonly contentHash?: string | undefined;
  /** The signature in base64. */
  readonly signature: string;
}

const seedBytes = 32;
/** The bytes before the seed in the PKCS #8 form of an Ed25519 key (RFC 8410, section 7). */
const pkcs8Head = Buffer.from("302e020100300506032b657004220420", "hex");
/** The bytes before the key in the SPKI form of an Ed25519 key (RFC 8410, section 4). */
const spkiHead = Buffer.from("302a300506032b6570032100", "hex");

function messageOf(kind: StatementKind, tenantId: string, statement: Omit<Signed, "signature">): Buffer {
  const { position, generation, hash, createdAt, contentHash } = statement;
  const type = `gatehouse-audit-${kind}/v1`;
  // Canonical JSON omits undefined fields.
  const text = canonicalize({ type, tenantId, position, generation, hash, createdAt, contentHash });
  return Buffer.from(text ?? "");
}

/** Signs statements of one installation. */
export class AuditSigner {
  readonly #key: KeyObject;
  /** 32 bytes in base64. */
  readonly publicKey: string;

  /** @param masterKey 32 bytes */
  constructor(masterKey: Buffer) {
    const seed = Buffer.from(hkdfSync("sha256", masterKey, "", "gatehouse/audit-signature/v1", seedBytes));
    this.#key = createPrivateKey({ key: Buffer.concat([pkcs8Head, seed]), format: "der", type: "pkcs8" });
    const spki = createPublicKey(this.#key).export({ format: "der", type: "spki" });
    this.publicKey = spki.subarray(spkiHead.length).toString("base64");
  }

  sign(kind: StatementKind, tenantId: string, place: ChainPlace, at: Date, contentHash?: string): Signed {
    const { position, generation, hash } = place;
    const content = contentHash === undefined ? {} : { contentHash };
    const statement = { position, generation, hash, createdAt: at.toISOString(), ...content };
    const signature = sign(null, messageOf(kind, tenantId, statement), this.#key).toString("base64");
    return { ...statement, signature };
  }
}

/** Verifies signatures with only a public key. */
export class SignatureCheck {
  readonly #key: KeyObject;

  private constructor(key: KeyObject) {
    this.#key = key;
  }

  /** @returns undefined if the text is not an Ed25519 public key (32 bytes in base64) */
  static of(publicKey: string): SignatureCheck | undefined {
    const bytes = Buffer.from(publicKey, "base64");
    if (bytes.length !== seedBytes || bytes.toString("base64") !== publicKey) return undefined;
    const key = createPublicKey({ key: Buffer.concat([spkiHead, bytes]), format: "der", type: "spki" });
    return new SignatureCheck(key);
  }

  isGenuine(kind: StatementKind, tenantId: string, statement: Signed): boolean {
    const signature = Buffer.from(statement.signature, "base64");
    // Base64 can encode the same bytes in more than one way. Only one is accepted.
    if (signature.toString("base64") !== statement.signature) return false;
    return verify(null, messageOf(kind, tenantId, statement), this.#key, signature);
  }
}
