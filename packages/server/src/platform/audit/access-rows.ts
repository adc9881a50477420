/**
 * The hash of the access effects and facts that a seal covers (docs/decisions/0069). Pure. The function
 * `access_record_hash` computes the same hash in SQL, and a test compares the two.
 */
import { createHash } from "node:crypto";

/** The access effect of a command. */
export interface EffectRow {
  readonly generation: number;
  /** The generation whose seal covers the row. */
  readonly sealedIn: number;
  /** ISO 8601. */
  readonly since: string;
  /** JSON as stored; null where the history begins. */
  readonly summary: string | null;
}

/** An access effect that was computed after the commit of its command. */
export interface LateEffectRow {
  /** The generation of the command. */
  readonly generation: number;
  /** The generation whose seal covers the row. */
  readonly sealedIn: number;
  /** ISO 8601. */
  readonly computedAt: string;
  /** JSON as stored. */
  readonly summary: string;
}

/** The facts of a record as a command left them. */
export interface FactRow {
  readonly generation: number;
  readonly firstGeneration: number;
  readonly kind: string;
  readonly record: string;
  /** JSON as stored; null if the record was deleted. */
  readonly facts: string | null;
}

const sha256 = (...parts: readonly (Buffer | string)[]) => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
};

function int64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes;
}

const hashOf = (text: string | null) => (text === null ? Buffer.alloc(0) : sha256(text));

/**
 * Hashes rows in the order in which they are added: effects by generation, then facts by generation, kind and record,
 * then late effects by generation.
 */
export class AccessRowsHash {
  readonly #hash = createHash("sha256");
  #isEmpty = true;

  effect({ generation, since, summary }: EffectRow): void {
    this.#isEmpty = false;
    this.#hash.update(sha256(int64(generation), int64(Date.parse(since)), hashOf(summary)));
  }

  fact({ generation, firstGeneration, kind, record, facts }: FactRow): void {
    this.#isEmpty = false;
    this.#hash.update(sha256(sha256(kind), sha256(record), int64(generation), int64(firstGeneration), hashOf(facts)));
  }

  lateEffect({ generation, computedAt, summary }: LateEffectRow): void {
    this.#isEmpty = false;
    this.#hash.update(sha256(int64(generation), int64(Date.parse(computedAt)), sha256(summary)));
  }

  /** @returns hexadecimal; undefined without rows */
  digest(): string | undefined {
    return this.#isEmpty ? undefined : this.#hash.digest("hex");
  }
}
