/**
 * The hashes of the audit record's chain (docs/decisions/0019). Pure. The statement that appends entries computes the
 * same hashes in SQL, and a test compares the two.
 */
import { createHash, type Hash } from "node:crypto";
import type { Work } from "@gatehouse/policy/work";
import canonicalize from "canonicalize";
import { isSmall, nodesIn, smallNodes } from "../json-slices.ts";
import type { Entry } from "./entry.ts";

/** Separates the details from the entries' hashes: no seal without details has the same bytes as one with them. */
export const detailsDomain = "gatehouse-details/1";

/** The length of a SHA-256, in bytes. */
export const hashBytes = 32;

/** The previous hash of a tenant's first seal. */
export const chainStart = "0".repeat(2 * hashBytes);

/** The seal of one command's entries. */
export interface Seal {
  readonly generation: number;
  /** When the command ran, in ISO 8601: the time of its entries. */
  readonly createdAt: string;
  readonly firstPosition: number;
  /** SHA-256 of each entry, in hexadecimal, in the order of their positions. */
  readonly entryHashes: readonly string[];
  /**
   * SHA-256 of the access effects and facts that the command stored, in hexadecimal. Absent if it stored none, and in
   * seals from before they were chained.
   */
  readonly details?: string;
  /** Covers all other fields, the tenant, and the hash of the previous seal. In hexadecimal. */
  readonly hash: string;
}

/** The position of the last entry that a seal covers. */
export function lastPositionOf({ firstPosition, entryHashes }: Seal): number {
  return firstPosition + entryHashes.length - 1;
}

/**
 * The SHA-256 of an entry's canonical JSON (RFC 8785), without its position and generation, which the seal covers.
 *
 * @throws if JSON cannot represent a value, such as half a surrogate pair
 */
export function entryHash(entry: Entry & { readonly position?: number; readonly generation?: number }): Buffer {
  const { position: _position, generation: _generation, ...sealed } = entry;
  return createHash("sha256")
    .update(canonicalize(sealed) ?? "")
    .digest();
}

/** Like `entryHash`, as work that can be suspended between parts of a large entry. */
export function* hashingEntry(entry: Entry): Work<Buffer> {
  const hash = createHash("sha256");
  yield* addCanonical(entry, hash);
  return hash.digest();
}

/** The cost of a node in canonical JSON, in rule-cost units. */
const canonicalNodeCost = 30;

function* addCanonical(value: unknown, hash: Hash): Work<void> {
  if (typeof value !== "object" || value === null || "toJSON" in value || isSmall(value)) {
    yield nodesIn(value) * canonicalNodeCost;
    hash.update(canonicalize(value) ?? "");
  } else if (Array.isArray(value)) yield* addCanonicalItems(value, hash);
  else {
    let separator = "{";
    // Texts are compared by code units, as RFC 8785 requires.
    for (const [key, part] of Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))) {
      if (part === undefined) continue;
      hash.update(`${separator}${canonicalize(key)}:`);
      separator = ",";
      yield* addCanonical(part, hash);
    }
    hash.update(separator === "{" ? "{}" : "}");
  }
}

/** Small items are hashed together, because each call of the hash costs more than such an item. */
function* addCanonicalItems(items: readonly unknown[], hash: Hash): Work<void> {
  let [text, nodes] = ["[", 0];
  for (const [index, item] of items.entries()) {
    if (index > 0) text += ",";
    const more = nodesIn(item);
    if (more <= smallNodes) {
      text += canonicalize(item ?? null);
      nodes += more;
      if (nodes < smallNodes) continue;
    }
    hash.update(text);
    yield nodes * canonicalNodeCost;
    [text, nodes] = ["", 0];
    if (more > smallNodes) yield* addCanonical(item, hash);
  }
  hash.update(`${text}]`);
}

/**
 * @param previous the hash of the previous seal, in hexadecimal
 * @returns the hash that a seal must have, in hexadecimal
 */
export function sealHash(previous: string, tenantId: string, seal: Omit<Seal, "hash">): string {
  const header = Buffer.alloc(24);
  header.writeBigInt64BE(BigInt(seal.generation), 0);
  header.writeBigInt64BE(BigInt(seal.firstPosition), 8);
  header.writeBigInt64BE(BigInt(Date.parse(seal.createdAt)), 16);
  const hash = createHash("sha256")
    .update(Buffer.from(previous, "hex"))
    .update(Buffer.from(tenantId.replaceAll("-", ""), "hex"))
    .update(header)
    .update(Buffer.from(seal.entryHashes.join(""), "hex"));
  if (seal.details !== undefined) hash.update(detailsDomain).update(Buffer.from(seal.details, "hex"));
  return hash.digest("hex");
}
