/** Compression of lists and of other answers without a version. */
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { ContentEncoding } from "../platform/prepared-answer.ts";

/** Smaller answers gain nothing. */
export const leastCompressedBytes = 1_024;

const brotli = promisify(brotliCompress);
const zip = promisify(gzip);

/** Low levels: higher ones save little and cost several times the processor time. */
const brotliQuality = 4;
const gzipLevel = 4;

/**
 * Chooses the encoding of an answer (RFC 9110, section 12.5.3). Brotli is preferred, because its result is smaller.
 *
 * @param header the header Accept-Encoding as received
 * @returns undefined to send the answer as it is
 */
export function chooseEncoding(header: string | readonly string[] | undefined): ContentEncoding | undefined {
  if (typeof header !== "string") return undefined;
  const accepted = new Map<string, boolean>();
  for (const listed of header.toLowerCase().split(",")) {
    const [coding = "", ...parameters] = listed.split(";").map((part) => part.trim());
    accepted.set(coding, !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)));
  }
  const rest = accepted.get("*") ?? false;
  return (["br", "gzip"] as const).find((coding) => accepted.get(coding) ?? rest);
}

/** Compresses outside of the event loop. */
export function compress(encoding: ContentEncoding, bytes: Buffer): Promise<Buffer> {
  if (encoding === "gzip") return zip(bytes, { level: gzipLevel });
  return brotli(bytes, {
    params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
  });
}
