/** Writes an audit record as text in bounded memory: verifiable NDJSON, or CSV for spreadsheets. */
import { createHash } from "node:crypto";
import type { Event } from "@gatehouse/contract/records/event";
import { stringify } from "csv-stringify/sync";
import type { Filter } from "../list-query.ts";
import { chainStart, lastPositionOf } from "./chain.ts";
import { readRecord, type TenantReader } from "./read-record.ts";
import { noEnd, readEntries, readGenerations, readPositionBefore, readStub } from "./record.queries.ts";
import { type EndLine, type HeadLine, type RecordLine, recordFormat } from "./record-lines.ts";
import type { AuditKeyHandover, AuditSigner, ChainPosition } from "./signatures.ts";

/** The approximate number of characters per piece of text. */
const pieceLength = 65_536;
const rowsAtOnce = 100;

export interface ExportOptions {
  readonly tenantId: string;
  readonly read: TenantReader;
  readonly filters: readonly Filter[];
  readonly signer: AuditSigner;
  /** The keys that signed before. */
  readonly handovers?: readonly AuditKeyHandover[];
  readonly now: Date;
}

/**
 * The record from its beginning or its stub. With filters, it contains the batches from the first matching entry
 * through the last one, with every seal between them, so that it can still be verified.
 */
export async function* ndjsonExport(options: ExportOptions): AsyncGenerator<string> {
  const { tenantId, read, filters, signer, handovers = [], now } = options;
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
  const lineText = (line: RecordLine | HeadLine) => {
    const text = `${JSON.stringify(line)}\n`;
    content.update(text);
    return text;
  };
  let piece = lineText(head);
  if (after === undefined && stub !== undefined) piece += lineText({ type: "stub", ...stub });
  if (!nothing) {
    const range = { after: from, throughGeneration: matching?.last, filters, oneSnapshot: false };
    for await (const line of readRecord(read, range)) {
      if (line.type === "event") end.events += 1;
      if (line.type === "seal") {
        if (line.firstPosition > end.place.position + 1) await requireUnpruned(read, end.place);
        end.place = { position: lastPositionOf(line), generation: line.generation, hash: line.hash };
      }
      piece += lineText(line);
      if (piece.length < pieceLength) continue;
      yield piece;
      piece = "";
    }
  }
  const signed = signer.sign("export", tenantId, end.place, now, content.digest("hex"));
  const last = { type: "end", ...signed, events: end.events };
  yield `${piece}${JSON.stringify(last as EndLine)}\n`; // signatures of exports have a contentHash
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

/** All matching entries without seals: for spreadsheets, not for verification. */
export async function* csvExport({ read, filters }: Pick<ExportOptions, "read" | "filters">): AsyncGenerator<string> {
  yield csvText([Object.keys(csvColumns)]);
  let after = 0;
  for (;;) {
    const from = after;
    const events = await read((tx) => readEntries(tx, filters, from, noEnd, rowsAtOnce));
    const last = events.at(-1);
    if (last === undefined) return;
    yield csvText(events.map((event) => Object.values(csvColumns).map((column) => column(event))));
    if (events.length < rowsAtOnce) return;
    after = last.position;
  }
}
