/** The audit record as a sequence of lines: what an export holds, and what verification takes, wherever it comes from. */
import { Event } from "@gatehouse/contract/records/event";
import { closedObject, Timestamp, Uuid } from "@gatehouse/contract/schema";
import Type, { type Static, type TProperties } from "typebox";
import { Compile } from "typebox/compile";
import type { Seal } from "./chain.ts";

/** The version of the form; a reader refuses another. */
export const recordFormat = "gatehouse-audit/1";

/** Beyond it numbers are not exact, and a seal's hash, which writes 64 bits, has none. */
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
  /** Whether every entry from the first line on is here; false where filters left some out. */
  complete: Type.Boolean(),
  filters: Type.Array(Type.String()),
  /** What the signatures can be checked with: Ed25519, 32 bytes in base64. */
  publicKey: Base64,
  /** The place in the chain after which the export begins, where that is not the chain's own beginning. */
  after: Type.Optional(closedObject(place)),
});
/** In place of entries that were pruned: the first line after the head, where it is there. */
const Stub = line("stub", signed);
const EventLine = line("event", { event: Event });
/** After the entries that it covers. */
const SealLine = line("seal", {
  generation: Count,
  createdAt: Timestamp,
  firstPosition: Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
  entryHashes: Type.Array(Hash),
  hash: Hash,
});
/** After the seal that it signs. */
const Checkpoint = line("checkpoint", signed);
/** The last line: a signed checkpoint of the last seal above, and of every byte before this line. */
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

/** @returns what is wrong with the line, in words, where it is none */
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
    return { type: "problem", problem: `is no ${type} line: ${form.Errors(value)[0]?.message ?? "its form is wrong"}` };
  }
  const line = value as ExportLine; // as the form says
  // The form takes leap seconds, which are no moment that a hash could be made of.
  return "createdAt" in line && Number.isNaN(Date.parse(line.createdAt))
    ? { type: "problem", problem: `is no ${type} line: createdAt is no moment` }
    : line;
}
