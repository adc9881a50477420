/** Verifies an exported audit record: its lines, seals and signatures, and that nothing was removed or added. */
import { createHash } from "node:crypto";
import { type EndLine, type HeadLine, parseLine, readableFormats } from "./record-lines.ts";
import { SignatureCheck } from "./signatures.ts";
import { RecordVerifier, type Report } from "./verify-record.ts";

/** The longest line in bytes: more than a seal of every entry that one command can make. */
const lineBytes = 64 * 1_048_576;

export interface ExportReport extends Report {
  readonly tenantId: string;
  readonly filters: readonly string[];
  readonly publicKey: string;
}

/** The input is not an export of an audit record. */
export class NotAnExportError extends Error {
  override readonly name = "NotAnExportError";
}

export interface VerifyExportOptions {
  /** The public key for the signatures; undefined trusts the key in the export. */
  readonly publicKey?: string | undefined;
  readonly expectHead?: string | undefined;
}

/**
 * @param chunks the export's bytes
 * @throws NotAnExportError unless its first line begins an export
 */
export async function verifyExport(
  chunks: AsyncIterable<Uint8Array>,
  options: VerifyExportOptions = {},
): Promise<ExportReport> {
  const content = createHash("sha256");
  let verifying: Verifying | undefined;
  let end: EndLine | undefined;
  let number = 0;
  for await (const { bytes, terminated } of linesOf(chunks)) {
    number += 1;
    // Decoding replaces bytes that are not UTF-8, so the text would differ from the bytes.
    const text = bytes.toString("utf8");
    const line = Buffer.from(text).equals(bytes)
      ? parseLine(text)
      : ({ type: "problem", problem: "is not UTF-8" } as const);
    if (verifying === undefined) {
      verifying = begin(line, options);
    } else if (line.type === "problem" || line.type === "head") {
      const problem = line.type === "head" ? "begins another export" : line.problem;
      verifying.verifier.report({ problem: "form", message: `Line ${number} ${problem}.` });
    } else if (end !== undefined) {
      verifying.verifier.report({ problem: "form", message: `Line ${number} comes after the end line.` });
    } else if (line.type === "end") {
      end = line;
      checkEnd(verifying, line, content.digest("hex"), terminated && text === JSON.stringify(line));
    } else {
      verifying.verifier.take(line);
    }
    if (end === undefined) content.update(bytes).update("\n");
  }
  if (verifying === undefined) throw new NotAnExportError("The export is empty.");
  const { head, verifier } = verifying;
  if (end === undefined) {
    const message = "The export has no last line: it was cut off, or what follows was taken away.";
    verifier.report({ problem: "missing", position: verifier.head.position + 1, message });
  }
  const { tenantId, filters, publicKey } = head;
  return { tenantId, filters, publicKey, ...verifier.finish() };
}

interface Verifying {
  readonly head: HeadLine;
  readonly signatures: SignatureCheck;
  readonly verifier: RecordVerifier;
}

function begin(line: ReturnType<typeof parseLine>, { publicKey, expectHead }: VerifyExportOptions): Verifying {
  if (line.type !== "head") {
    throw new NotAnExportError(
      line.type === "problem"
        ? `The first line ${line.problem}: this is not an NDJSON export of an audit record.`
        : "The export's first line is missing.",
    );
  }
  if (!readableFormats.includes(line.format)) {
    throw new NotAnExportError(
      `The export's format is ${JSON.stringify(line.format)}; this version reads ${readableFormats.join(" and ")}.`,
    );
  }
  const signatures = SignatureCheck.of(publicKey ?? line.publicKey, line.keys);
  if (signatures === undefined) throw new NotAnExportError("The public key is not 32 bytes in base64.");
  const { tenantId, complete, after } = line;
  const verifier = new RecordVerifier({ tenantId, signatures, complete, after, expectHead });
  // A later key is as good as the expected one if the expected one has handed over to it.
  const isKnown = publicKey === undefined || signatures.has(line.publicKey);
  if (!isKnown) {
    const message = `The export says that it is signed with ${line.publicKey}, which is not the expected key.`;
    verifier.report({ problem: "form", message });
  }
  return { head: line, signatures, verifier };
}

function checkEnd(
  { head, signatures, verifier }: Verifying,
  end: EndLine,
  contentHash: string,
  verbatim: boolean,
): void {
  if (!verbatim || !signatures.isGenuine("export", head.tenantId, end)) {
    verifier.report({ problem: "head", message: "The export's last line is not as it was signed." });
    return;
  }
  if (end.contentHash !== contentHash) {
    verifier.report({ problem: "head", message: "The lines of the export are not all as they were signed." });
  }
  if (end.events !== verifier.events) {
    const message = `The export had ${end.events} entries, and has ${verifier.events}.`;
    verifier.report({ problem: "head", message });
  }
  verifier.end(end);
}

/** Splits only at line feeds. `terminated` is false if the last line has no line feed. */
async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ readonly bytes: Buffer; readonly terminated: boolean }> {
  let pieces: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(0x0a); at >= 0; at = chunk.indexOf(0x0a, from)) {
      yield { bytes: Buffer.concat([...pieces, chunk.subarray(from, at)]), terminated: true };
      pieces = [];
      length = 0;
      from = at + 1;
    }
    pieces.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > lineBytes) throw new NotAnExportError(`A line has more than ${lineBytes} bytes.`);
  }
  if (length > 0) yield { bytes: Buffer.concat(pieces), terminated: false };
}
