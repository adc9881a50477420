/**
 * The audit record as a sequence of lines. Exports contain these lines, and verification reads them from any source.
 */
import { Event } from "@gatehouse/contract/records/event";
import { closedObject, Timestamp, Uuid } from "@gatehouse/contract/schema";
import Type, { type Static, type TProperties } from "typebox";
import { Compile } from "typebox/compile";
import type { Seal } from "./chain.ts";

/** The version of the format that exports are written in. Version 2 added `details` to seals, and `keys`. */
export const recordFormat = "gatehouse-audit/2";
/** The versions that a reader accepts. */
export const readableFormats: readonly string[] = ["gatehouse-audit/1", recordFormat];

/**
 * Above this maximum, numbers are not exact, so the hash of a seal, which contains 64-bit integers, cannot be computed.
 */
const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Hash = Type.String({ pattern: "^[0-9a-f]{64}$" });
const Base64 = Type.String({ pattern: "^[A-Za-z0-9+/]+={0,2}$" });
const place = { position: Count, generation: Count, hash: Hash };
const signed = { ...place, createdAt: Timestamp, signature: Base64 };

const line = <const T extends string, P extends TProperties>(type: T, properties: P) =>
  closedObject({ type: Type.Literal(type), ...properties });

const Head = line("head", {
  format: Type.String(),
  tenantId: Uuid,
  createdAt: Timestamp,
  /** Whether the export contains every entry from its first line on; false if filters omitted some. */
  complete: Type.Boolean(),
  filters: Type.Array(Type.String()),
  /** The key that verifies the signatures: Ed25519, 32 bytes in base64. */
  publicKey: Base64,
  /** The hand-overs between the keys that signed; absent if there was only one key. */
  keys: Type.Optional(
    Type.Array(
      closedObject({
        from: Base64,
        to: Base64,
        createdAt: Timestamp,
        signatures: closedObject({ from: Base64, to: Base64 }),
      }),
    ),
  ),
  /** The place in the chain after which the export begins; absent if it begins at the start of the chain. */
  after: Type.Optional(closedObject(place)),
});
/** Replaces the entries that were pruned. If present, it is the first line after the head. */
const Stub = line("stub", signed);
const EventLine = line("event", { event: Event });
/** Follows the entries that the seal covers. */
const SealLine = line("seal", {
  generation: Count,
  createdAt: Timestamp,
  firstPosition: Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
  entryHashes: Type.Array(Hash),
  details: Type.Optional(Hash),
  hash: Hash,
});
/** Follows the seal that the checkpoint signs. */
const Checkpoint = line("checkpoint", signed);
/** The last line: a signed checkpoint of the last seal, and of every byte before this line. */
const End = line("end", { ...signed, events: Count, contentHash: Hash });

export type HeadLine = Static<typeof Head>;
export type EndLine = Static<typeof End>;
export type RecordLine =
  | Static<typeof Stub>
  | Static<typeof EventLine>
  | ({ readonly type: "seal" } & Seal)
  | Static<typeof Checkpoint>;
export type ExportLine = HeadLine | RecordLine | EndLine;

const forms = {
  head: Compile(Head),
  stub: Compile(Stub),
  event: Compile(EventLine),
  seal: Compile(SealLine),
  checkpoint: Compile(Checkpoint),
  end: Compile(End),
};

/** @returns the line, or the problem in words if the text is not a valid line */
export function parseLine(text: string): ExportLine | { readonly type: "problem"; readonly problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { type: "problem", problem: "is not JSON" };
  }
  const type = typeof value === "object" && value !== null && "type" in value ? value.type : undefined;
  if (typeof type !== "string" || !Object.hasOwn(forms, type)) {
    return { type: "problem", problem: "is of no known type" };
  }
  const form = forms[type as keyof typeof forms]; // checked above
  if (!form.Check(value)) {
    const reason = form.Errors(value)[0]?.message ?? "its form is wrong";
    return { type: "problem", problem: `is not a valid ${type} line: ${reason}` };
  }
  const line = value as ExportLine; // the schema was checked
  // The schema accepts leap seconds, which are not valid times for a hash.
  return "createdAt" in line && Number.isNaN(Date.parse(line.createdAt))
    ? { type: "problem", problem: `is not a valid ${type} line: createdAt is not a time` }
    : line;
}
