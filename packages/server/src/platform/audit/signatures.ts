/**
 * Signed statements about a tenant's chain, in Ed25519 (RFC 8032). The key is derived from the master key, so it is not
 * in the database. Write access to the database without the master key is not enough to sign a statement.
 */
import { createPrivateKey, createPublicKey, hkdfSync, type KeyObject, sign, verify } from "node:crypto";
import canonicalize from "canonicalize";

/**
 * `checkpoint`: this is the chain's head. `stub`: everything up to here was pruned. `export`: an export ends here, and
 * its content has this `contentHash`. `acceptance`: the operator accepts this head although it contradicts a signed
 * one, for a reason with this `contentHash`.
 */
export type StatementKind = "checkpoint" | "stub" | "export" | "acceptance";

/** A position in a tenant's chain: the last entry of a seal. */
export interface ChainPosition {
  readonly position: number;
  readonly generation: number;
  /** The seal's hash, in hexadecimal. */
  readonly hash: string;
}

export interface Signed extends ChainPosition {
  /** The time of signing, in ISO 8601. */
  readonly createdAt: string;
  /**
   * Hexadecimal SHA-256 of every byte of an export before its last line, or of the reason of an acceptance.
   */
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

/** The statement by which one key replaces another. Both sign it, so that either leads to the other. */
export interface AuditKeyHandover {
  /** Public keys: 32 bytes in base64. */
  readonly from: string;
  readonly to: string;
  /** When the first key stopped signing, in ISO 8601. */
  readonly createdAt: string;
  /** The signatures of the two keys, in base64. */
  readonly signatures: { readonly from: string; readonly to: string };
}

function handoverMessage({ from, to, createdAt }: Omit<AuditKeyHandover, "signatures">): Buffer {
  return Buffer.from(canonicalize({ type: "gatehouse-audit-key/v1", from, to, createdAt }) ?? "");
}

/** Returns the seed of an installation's first audit key. */
export function auditSeedOf(masterKey: Buffer): Buffer {
  return Buffer.from(hkdfSync("sha256", masterKey, "", "gatehouse/audit-signature/v1", seedBytes));
}

/** Signs statements of one installation. */
export class AuditSigner {
  readonly #key: KeyObject;
  /** 32 bytes in base64. */
  readonly publicKey: string;

  /** @param key the master key, from which the first audit key is derived, or the seed of a later one; 32 bytes */
  constructor(key: Buffer | { readonly seed: Buffer }) {
    const seed = Buffer.isBuffer(key) ? auditSeedOf(key) : key.seed;
    this.#key = createPrivateKey({ key: Buffer.concat([pkcs8Head, seed]), format: "der", type: "pkcs8" });
    const spki = createPublicKey(this.#key).export({ format: "der", type: "spki" });
    this.publicKey = spki.subarray(spkiHead.length).toString("base64");
  }

  sign(kind: StatementKind, tenantId: string, place: ChainPosition, at: Date, contentHash?: string): Signed {
    const { position, generation, hash } = place;
    const content = contentHash === undefined ? {} : { contentHash };
    const statement = { position, generation, hash, createdAt: at.toISOString(), ...content };
    const signature = sign(null, messageOf(kind, tenantId, statement), this.#key).toString("base64");
    return { ...statement, signature };
  }

  /** Returns the statement by which this key is replaced. */
  handOver(next: AuditSigner, at: Date): AuditKeyHandover {
    const handover = { from: this.publicKey, to: next.publicKey, createdAt: at.toISOString() };
    const signBy = (signer: AuditSigner) => sign(null, handoverMessage(handover), signer.#key).toString("base64");
    return { ...handover, signatures: { from: signBy(this), to: signBy(next) } };
  }
}

/**
 * How long after its replacement the signatures of a key still count, in milliseconds: replicas learn of a new key one
 * after the other.
 */
const replacedGraceMs = 10 * 60_000;

interface KnownKey {
  readonly key: KeyObject;
  /** When the key was replaced, in milliseconds since 1970; undefined: it was not. */
  replacedAt: number | undefined;
}

/** Verifies signatures with only public keys. */
export class SignatureCheck {
  readonly #keys: ReadonlyMap<string, KnownKey>;

  private constructor(keys: ReadonlyMap<string, KnownKey>) {
    this.#keys = keys;
  }

  /**
   * @param handovers lead to the keys before and after; those without two valid signatures are ignored
   * @returns undefined if the text is not an Ed25519 public key (32 bytes in base64)
   */
  static of(publicKey: string, handovers: readonly AuditKeyHandover[] = []): SignatureCheck | undefined {
    const first = keyOf(publicKey);
    if (first === undefined) return undefined;
    const keys = new Map<string, KnownKey>([[publicKey, { key: first, replacedAt: undefined }]]);
    const genuine = handovers.filter(isGenuineHandover);
    for (let before = 0; before !== keys.size; ) {
      before = keys.size;
      for (const { from, to } of genuine) {
        const next = keys.has(from) ? to : keys.has(to) ? from : undefined;
        const key = next === undefined || keys.has(next) ? undefined : keyOf(next);
        if (next !== undefined && key !== undefined) keys.set(next, { key, replacedAt: undefined });
      }
    }
    for (const { from, createdAt } of genuine) {
      const known = keys.get(from);
      if (known !== undefined) known.replacedAt = Date.parse(createdAt);
    }
    return new SignatureCheck(keys);
  }

  /** Whether a key is one of the trusted ones. */
  has(publicKey: string): boolean {
    return this.#keys.has(publicKey);
  }

  isGenuine(kind: StatementKind, tenantId: string, statement: Signed): boolean {
    const signature = Buffer.from(statement.signature, "base64");
    // Base64 can encode the same bytes in more than one way. Only one is accepted.
    if (signature.toString("base64") !== statement.signature) return false;
    const message = messageOf(kind, tenantId, statement);
    const at = Date.parse(statement.createdAt);
    for (const { key, replacedAt } of this.#keys.values()) {
      if (replacedAt !== undefined && at > replacedAt + replacedGraceMs) continue;
      if (verify(null, message, key, signature)) return true;
    }
    return false;
  }
}

/** @returns undefined if the text is not an Ed25519 public key (32 bytes in base64) */
function keyOf(publicKey: string): KeyObject | undefined {
  const bytes = Buffer.from(publicKey, "base64");
  if (bytes.length !== seedBytes || bytes.toString("base64") !== publicKey) return undefined;
  return createPublicKey({ key: Buffer.concat([spkiHead, bytes]), format: "der", type: "spki" });
}

function isGenuineHandover(handover: AuditKeyHandover): boolean {
  const message = handoverMessage(handover);
  const isBy = (publicKey: string, signature: string) => {
    const key = keyOf(publicKey);
    return key !== undefined && verify(null, message, key, Buffer.from(signature, "base64"));
  };
  const { from, to, signatures } = handover;
  return isBy(from, signatures.from) && isBy(to, signatures.to);
}
