/**
 * The keys that sign the audit records (docs/decisions/0070). The first one is derived from the master key, and stored
 * encrypted like the later ones, so that it outlives a rotation of the master key.
 */
import { randomBytes } from "node:crypto";
import type { Database, Transaction } from "../db/database.ts";
import { createSecretBox, type MasterKeys, masterKeyThatOpens, type SecretBox } from "../secrets/master-key.ts";
import { type AuditKeyRow, auditKeyRows, handoversOf, insertAuditKey, masterKeyCheckOf } from "./audit-keys.queries.ts";
import { type AuditKeyHandover, AuditSigner, auditSeedOf, SignatureCheck } from "./signatures.ts";

const scope = { kind: "operator" } as const;
const seedBytes = 32;

/** Binds the ciphertext of a seed to its key. */
export function auditKeyContext(publicKey: string): string {
  return `audit-key:${publicKey}`;
}

export class AuditKeys {
  readonly #database: Database;
  readonly #masterKeys: MasterKeys;
  readonly #box: SecretBox;
  #signer: AuditSigner;
  #handovers: readonly AuditKeyHandover[] = [];
  #signatures: SignatureCheck;

  constructor(database: Database, masterKeys: MasterKeys) {
    this.#database = database;
    this.#masterKeys = masterKeys;
    this.#box = createSecretBox(masterKeys, "audit-key");
    this.#signer = new AuditSigner(masterKeys.current);
    this.#signatures = checkOf(this.#signer.publicKey, []);
  }

  /** The key that signs. */
  get signer(): AuditSigner {
    return this.#signer;
  }

  get handovers(): readonly AuditKeyHandover[] {
    return this.#handovers;
  }

  get signatures(): SignatureCheck {
    return this.#signatures;
  }

  /** Reads the keys, and stores the first one in a database that has none. */
  async refresh(now: Date): Promise<void> {
    const rows = await this.#database.transaction(scope, async (transaction) => {
      const known = await auditKeyRows(transaction);
      if (known.length > 0) return known;
      await this.#adopt(transaction, now);
      return auditKeyRows(transaction);
    });
    this.#use(rows);
  }

  /**
   * Generates a key that signs from now on. The current key signs the new one, and the new one the current one.
   *
   * @returns the public keys
   */
  async rotate(transaction: Transaction, at: Date): Promise<{ readonly from: string; readonly to: string }> {
    const rows = await auditKeyRows(transaction);
    const currentSigner = this.#signerOf(rows);
    const seed = randomBytes(seedBytes);
    const next = new AuditSigner({ seed });
    const { from, to, createdAt, signatures } = currentSigner.handOver(next, at);
    await insertAuditKey(transaction, {
      number: rows.length + 1,
      createdAt,
      publicKey: to,
      ciphertext: this.#box.seal(seed.toString("base64"), auditKeyContext(to)),
      previousSignature: signatures.from,
      ownSignature: signatures.to,
    });
    return { from, to };
  }

  /** The first key is derived from the master key that the database was created with. */
  async #adopt(transaction: Transaction, now: Date): Promise<void> {
    const check = await masterKeyCheckOf(transaction);
    const masterKey = check === undefined ? undefined : masterKeyThatOpens(this.#masterKeys, check);
    const seed = auditSeedOf(masterKey ?? this.#masterKeys.current);
    const { publicKey } = new AuditSigner({ seed });
    await insertAuditKey(transaction, {
      number: 1,
      createdAt: now.toISOString(),
      publicKey,
      ciphertext: this.#box.seal(seed.toString("base64"), auditKeyContext(publicKey)),
      previousSignature: null,
      ownSignature: null,
    });
  }

  #use(rows: readonly AuditKeyRow[]): void {
    const handovers = handoversOf(rows);
    if (rows.at(-1)?.publicKey !== this.#signer.publicKey) this.#signer = this.#signerOf(rows);
    if (handovers.length === this.#handovers.length && rows.length > 1) return;
    this.#handovers = handovers;
    this.#signatures = checkOf(this.#signer.publicKey, handovers);
  }

  /** @throws if the last key was not stored by a holder of the master key */
  #signerOf(rows: readonly AuditKeyRow[]): AuditSigner {
    const last = rows.at(-1);
    if (last === undefined) return this.#signer;
    const seed = Buffer.from(this.#box.open(last.ciphertext, auditKeyContext(last.publicKey)), "base64");
    const signer = new AuditSigner({ seed });
    if (signer.publicKey !== last.publicKey) throw new Error("the stored audit key is not its public key's");
    return signer;
  }
}

function checkOf(publicKey: string, handovers: readonly AuditKeyHandover[]): SignatureCheck {
  const check = SignatureCheck.of(publicKey, handovers);
  if (check === undefined) throw new Error("the audit key is not an Ed25519 key");
  return check;
}
