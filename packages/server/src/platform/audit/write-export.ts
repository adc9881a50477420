/** Writes an audit record as text in bounded memory: verifiable NDJSON, or CSV for spreadsheets. */
import { createHash } from "node:crypto";
import type { Event } from "@gatehouse/contract/records/event";
import type { Work } from "@gatehouse/policy/work";
import { stringify } from "csv-stringify/sync";
import { isSmall, jsonParts } from "../json-slices.ts";
import type { Filter } from "../list-query.ts";
import { chainStart, lastPositionOf } from "./chain.ts";
import { readRecord, type TenantReader } from "./read-record.ts";
import { noEnd, readEntries, readGenerations, readPositionBefore, readStub } from "./record.queries.ts";
import { type EndLine, type HeadLine, type RecordLine, recordFormat } from "./record-lines.ts";
import type { AuditKeyHandover, AuditSigner, ChainPosition } from "./signatures.ts";

/** The approximate number of characters per piece of text. */
const pieceLength = 65_536;
const rowsAtOnce = 100;
/** Characters that are serialized and hashed in a unit of rule cost. */
const charactersOfUnit = 10;
const lineCost = 100;

export interface ExportOptions {
  readonly tenantId: string;
  readonly read: TenantReader;
  readonly filters: readonly Filter[];
  readonly signer: AuditSigner;
  /** The keys that signed before. */
  readonly handovers?: readonly AuditKeyHandover[];
  readonly now: Date;
  /** Serializes in slices: an entry can have megabytes, and a fast reader never makes the export wait. */
  readonly evaluate: <Result>(work: Work<Result>) => Promise<Result>;
}

/**
 * The record from its beginning or its stub. With filters, it contains the batches from the first matching entry
 * through the last one, with every seal between them, so that it can still be verified.
 */
export async function* ndjsonExport(options: ExportOptions): AsyncGenerator<string> {
  const { tenantId, read, filters, signer, handovers = [], now, evaluate } = options;
  const complete = filters.length === 0;
  const matching = complete ? undefined : await read((tx) => readGenerations(tx, filters));
  const nothing = !complete && matching === undefined;
  const before = nothing ? noEnd : matching?.first;
  const [stub, preceding] = await read((tx) =>
    Promise.all([readStub(tx), before === undefined ? undefined : readPositionBefore(tx, before)]),
  );
  const after: ChainPosition | undefined = before === undefined ? undefined : (preceding ?? stub);
  const start = { position: 0, generation: 0, hash: chainStart };
  const from = after ?? (stub === undefined ? start : placeOf(stub));
  const head: HeadLine = {
    type: "head",
    format: recordFormat,
    tenantId,
    createdAt: now.toISOString(),
    complete,
    filters: filters.map(shown),
    publicKey: signer.publicKey,
    ...(handovers.length === 0 ? {} : { keys: [...handovers] }),
    ...(after === undefined ? {} : { after: placeOf(after) }),
  };
  const content = createHash("sha256");
  const end = { place: from, events: 0 };
  const lineText = async (line: RecordLine | HeadLine) => {
    const parts = await evaluate(lineParts(line));
    for (const part of parts) content.update(part);
    return parts.join("");
  };
  let piece = await lineText(head);
  if (after === undefined && stub !== undefined) piece += await lineText({ type: "stub", ...stub });
  if (!nothing) {
    const range = { after: from, throughGeneration: matching?.last, filters, oneSnapshot: false };
    for await (const line of readRecord(read, range)) {
      if (line.type === "event") end.events += 1;
      if (line.type === "seal") {
        if (line.firstPosition > end.place.position + 1) await requireUnpruned(read, end.place);
        end.place = { position: lastPositionOf(line), generation: line.generation, hash: line.hash };
      }
      piece += await lineText(line);
      if (piece.length < pieceLength) continue;
      yield piece;
      piece = "";
    }
  }
  const signed = signer.sign("export", tenantId, end.place, now, content.digest("hex"));
  const last = { type: "end", ...signed, events: end.events };
  yield `${piece}${JSON.stringify(last as EndLine)}\n`; // signatures of exports have a contentHash
}

/** The text of a line, in parts. */
export function* lineParts(line: RecordLine | HeadLine): Work<readonly string[]> {
  if (!isSmall(line)) return [...(yield* jsonParts(line)), "\n"];
  const text = `${JSON.stringify(line)}\n`;
  yield lineCost + text.length / charactersOfUnit;
  return [text];
}

function placeOf({ position, generation, hash }: ChainPosition): ChainPosition {
  return { position, generation, hash };
}

/** Stops the export if pruning made a gap meanwhile. Any other gap is exported, so that verification finds it. */
async function requireUnpruned(read: TenantReader, { position }: ChainPosition): Promise<void> {
  const stub = await read(readStub);
  if (stub !== undefined && stub.position > position) throw new Error("entries were pruned while they were exported");
}

function shown({ field, operator, values }: Filter): string {
  return `${field} ${operator} ${values.join(",")}`;
}

const csvColumns: Readonly<Record<string, (event: Event) => string | number | undefined>> = {
  position: (event) => event.position,
  id: (event) => event.id,
  createdAt: (event) => event.createdAt,
  generation: (event) => event.generation,
  "actor.type": (event) => event.actor.type,
  "actor.id": (event) => event.actor.id,
  "actor.name": (event) => event.actor.name,
  operation: (event) => event.operation,
  "target.type": (event) => event.target.type,
  "target.id": (event) => event.target.id,
  "target.name": (event) => event.target.name,
  requestId: (event) => event.requestId,
  sourceAddress: (event) => event.sourceAddress,
  before: (event) => (event.before === undefined ? undefined : JSON.stringify(event.before)),
  after: (event) => (event.after === undefined ? undefined : JSON.stringify(event.after)),
  reason: (event) => event.reason,
  reverts: (event) => event.reverts,
};

/** CSV text (RFC 4180). Values that a spreadsheet would evaluate as formulas get a leading apostrophe. */
function csvText(rows: readonly (readonly unknown[])[]): string {
  return stringify([...rows], { record_delimiter: "windows", escape_formulas: true });
}

/** The rows of some entries, one by one. */
export function* csvRows(events: readonly Event[]): Work<readonly string[]> {
  const rows: string[] = [];
  for (const event of events) {
    const row = csvText([Object.values(csvColumns).map((column) => column(event))]);
    rows.push(row);
    yield lineCost + (2 * row.length) / charactersOfUnit;
  }
  return rows;
}

/** All matching entries without seals: for spreadsheets, not for verification. */
export async function* csvExport({
  read,
  filters,
  evaluate,
}: Pick<ExportOptions, "read" | "filters" | "evaluate">): AsyncGenerator<string> {
  yield csvText([Object.keys(csvColumns)]);
  let after = 0;
  for (;;) {
    const from = after;
    const events = await read((tx) => readEntries(tx, filters, from, noEnd, rowsAtOnce));
    const last = events.at(-1);
    if (last === undefined) return;
    let piece = "";
    for (const row of await evaluate(csvRows(events))) {
      piece += row;
      if (piece.length < pieceLength) continue;
      yield piece;
      piece = "";
    }
    if (piece !== "") yield piece;
    if (events.length < rowsAtOnce) return;
    after = last.position;
  }
}
