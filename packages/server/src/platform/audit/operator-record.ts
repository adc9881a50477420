/**
 * The operator's record as a chain: each entry's hash covers the entry, its position, and the hash of the previous one.
 * Pure. A trigger computes the same hashes in SQL (migration 0025).
 */
import { createHash } from "node:crypto";
import { chainStart } from "./chain.ts";
import type { ChainPosition, SignatureCheck, Signed } from "./signatures.ts";
import { operatorRecord } from "./signed-heads.ts";
import type { Finding, Report } from "./verify-record.ts";

export interface OperatorEntry {
  readonly position: number;
  /** Hexadecimal. */
  readonly hash: string;
  readonly id: string;
  readonly createdAt: string;
  readonly actorType: string;
  readonly actorName: string;
  readonly operation: string;
  readonly tenantId: string;
  /** JSON as PostgreSQL prints it. */
  readonly before: string | null;
  readonly after: string | null;
  readonly requestId: string;
  readonly sourceAddress: string | null;
  readonly reason: string | null;
}

const sha256 = (...parts: readonly (Buffer | string)[]) =>
  parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest();

/** @param previous the hash of the previous entry, in hexadecimal @returns the hash that the entry must have */
export function operatorEntryHash(previous: string, entry: OperatorEntry): string {
  const fields = [
    entry.id,
    String(Date.parse(entry.createdAt)),
    entry.actorType,
    entry.actorName,
    entry.operation,
    entry.tenantId,
    entry.before,
    entry.after,
    entry.requestId,
    entry.sourceAddress,
    entry.reason,
  ];
  const position = Buffer.alloc(8);
  position.writeBigInt64BE(BigInt(entry.position));
  const content = sha256(...fields.map((field) => sha256(field === null ? "" : `=${field}`)));
  return sha256(Buffer.from(previous, "hex"), position, content).toString("hex");
}

export interface OperatorRecordContent {
  readonly entries: AsyncIterable<OperatorEntry>;
  readonly checkpoints: readonly Signed[];
  /** The end according to the row that orders the entries, or undefined. */
  readonly last: ChainPosition | undefined;
  /** The tenants that were created, are gone, and were not deleted. */
  readonly lostTenants: readonly string[];
}

export interface OperatorRecordChecks {
  readonly signatures: SignatureCheck | undefined;
  /** Entries before this time must be signed, in ISO 8601. */
  readonly unsignedBefore?: string | undefined;
  /** Places that must be in the record. */
  readonly expected?: readonly Pick<ChainPosition, "position" | "hash">[];
}

/** Verifies the operator's record. */
export async function verifyOperatorRecord(
  { entries, checkpoints, last, lostTenants }: OperatorRecordContent,
  { signatures, unsignedBefore, expected = [] }: OperatorRecordChecks,
): Promise<Report> {
  const findings: Finding[] = [];
  const signed = new Map(checkpoints.map((checkpoint) => [checkpoint.position, checkpoint]));
  let head: ChainPosition = { position: 0, generation: 0, hash: chainStart };
  let events = 0;
  let signedThrough = 0;
  let oldestUnsigned: OperatorEntry | undefined;
  const missing = new Map(expected.map(({ hash, position }) => [hash, position]));
  for await (const entry of entries) {
    missing.delete(entry.hash);
    const { position, id, createdAt } = entry;
    events += 1;
    if (position !== head.position + 1) {
      const message = `Entries ${head.position + 1} to ${position - 1} of the operator's record are missing.`;
      findings.push({ problem: "missing", position: head.position + 1, message });
    } else if (operatorEntryHash(head.hash, entry) !== entry.hash) {
      const message = "The entry of the operator's record was changed.";
      findings.push({ problem: "changed", position, id, createdAt, message });
    }
    head = { position, generation: position, hash: entry.hash };
    const checkpoint = signed.get(position);
    oldestUnsigned ??= entry;
    if (checkpoint === undefined) continue;
    signed.delete(position);
    const isGenuine = signatures?.isGenuine("checkpoint", operatorRecord, checkpoint) ?? true;
    if (isGenuine && checkpoint.hash === entry.hash) {
      if (signatures !== undefined) signedThrough = position;
      oldestUnsigned = undefined;
    } else {
      const message = `The checkpoint at position ${position} of the operator's record does not match.`;
      findings.push({ problem: "checkpoint", position, message });
    }
  }
  for (const { position } of signed.values()) {
    const message = `Position ${position} of the operator's record was signed, and is missing.`;
    findings.push({ problem: "missing", position, message });
  }
  if ((last?.position ?? 0) !== head.position || (last !== undefined && last.hash !== head.hash)) {
    const message = `The operator's record has had ${last?.position ?? 0} entries, and ends at ${head.position}.`;
    findings.push({ problem: "head", position: head.position, message });
  }
  for (const position of missing.values()) {
    const message = `Position ${position} of the operator's record had another hash: it was rewritten since, or is an older one.`;
    findings.push({ problem: "head", position, message });
  }
  if (events === 0) findings.push({ problem: "empty", message: "The operator's record is empty." });
  if (signatures !== undefined && oldestUnsigned !== undefined && oldestUnsigned.createdAt < (unsignedBefore ?? "")) {
    const { position, createdAt } = oldestUnsigned;
    const message = "Nothing signs this entry of the operator's record and those after it.";
    findings.push({ problem: "unsigned", position, createdAt, message });
  }
  for (const tenantId of lostTenants) {
    findings.push({ problem: "missing", message: `The tenant ${tenantId} is gone, and nobody deleted it.` });
  }
  const { length: problems } = findings;
  return { findings, problems, events, leftOut: 0, prunedThrough: 0, head, signedThrough };
}
