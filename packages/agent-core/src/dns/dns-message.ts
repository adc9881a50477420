/**
 * Decodes DNS messages at a bounded cost. The library follows every compression pointer of every name, so a message of
 * 64 KiB can block the event loop for 300 ms. The checks here take time linear in the size.
 */
import packet, { type Answer, type DecodedPacket } from "dns-packet";

/** A decoded message, with two fields that the library's types omit. */
export interface DnsMessage extends DecodedPacket {
  readonly opcode: string;
  readonly rcode: string;
}

/** The maximum size of a question, in bytes. 1232 is the DNS Flag Day 2020 limit. */
export const longestQuestionBytes = 1232;

/** The maximum number of records used from an answer. Without it, a zone's owner could fill an agent's memory. */
export const mostRecords = 256;

export const headerBytes = 12;
const longestNameBytes = 255;
const cnameType = 5;
const soaType = 6;
const optType = 41;
const txtType = 16;
/** The most strings of all TXT records in an answer. 64 KiB of full strings are 256. */
const mostStrings = 1_000;
/** The most labels and compression pointers of a name in an answer. Names on the Internet have fewer than 40. */
const mostNameSteps = 64;
/** The most labels and compression pointers of all decoded names of an answer: 256 records with two names of eight. */
const mostSteps = 4_096;
/** The position of the first name in the data of a record, by type: NS, CNAME, SOA, MX and SRV. */
const nameInData: Readonly<Record<number, number>> = { 2: 0, [cnameType]: 0, [soaType]: 0, 15: 2, 33: 6 };

/** The positions of the fields of a header. */
export const offsets = { flags: 2, questions: 4, answers: 6, authorities: 8, additionals: 10 } as const;

/** The decoder of a record, which the library's types omit. */
const { answer: recordDecoder } = packet as unknown as {
  readonly answer: { readonly decode: (bytes: Buffer, at: number) => Answer };
};

/** Whether the bytes have the header of a query. Does not decode them. */
export function isQuery(bytes: Buffer): boolean {
  return bytes.length >= headerBytes && bytes.length <= longestQuestionBytes && bytes.readInt8(offsets.flags) >= 0;
}

/** Whether the bytes are a query with an opcode other than QUERY, such as an update. Does not decode them. */
export function hasOtherOpcode(bytes: Buffer): boolean {
  return isQuery(bytes) && (bytes.readUInt8(offsets.flags) & 0x78) !== 0;
}

/**
 * Whether the bytes are exactly one question without compression pointers, and at most an OPT record after it. Decoding
 * such a question takes microseconds.
 */
function isSingleQuestion(bytes: Buffer): boolean {
  if (!isQuery(bytes) || bytes.readUInt16BE(offsets.questions) !== 1) return false;
  if (bytes.readUInt32BE(offsets.answers) !== 0) return false; // answers and authorities
  const additionals = bytes.readUInt16BE(offsets.additionals);
  let at = headerBytes;
  // A pointer is a length above 63.
  for (let length = bytes[at]; length !== 0; length = bytes[at]) {
    if (length === undefined || length > 63) return false;
    at += length + 1;
    if (at - headerBytes >= longestNameBytes) return false;
  }
  const end = at + 5;
  if (additionals === 0) return end <= bytes.length;
  // The owner of an OPT record is the root (RFC 6891, section 6.1.2).
  return additionals === 1 && end + 3 <= bytes.length && bytes[end] === 0 && bytes.readUInt16BE(end + 1) === optType;
}

function decodeMessage(bytes: Buffer): DnsMessage | undefined {
  try {
    return packet.decode(bytes) as DnsMessage; // the library always sets both
  } catch {
    return undefined;
  }
}

/** @returns undefined if the bytes are not exactly one question */
export function decodeQuestion(bytes: Buffer): DnsMessage | undefined {
  return isSingleQuestion(bytes) ? decodeMessage(bytes) : undefined;
}

/**
 * Decodes the question and the first answers of a resolver's message, without authorities and additional records.
 * Answers are aliases and records of the requested type. Other types can be expensive to decode, such as NSEC.
 *
 * @returns undefined if the bytes are not a DNS message with one question of this type, or if names or the strings of
 * TXT records are too expensive
 */
export function decodeAnswer(bytes: Buffer, type: string): DnsMessage | undefined {
  if (bytes.length < headerBytes || bytes.readUInt16BE(offsets.questions) !== 1) return undefined;
  const steps = stepsOfNames(bytes);
  if (steps === undefined) return undefined;
  const withoutRecords = Buffer.from(bytes);
  withoutRecords.fill(0, offsets.answers, headerBytes);
  const message = decodeMessage(withoutRecords);
  if (message?.questions?.[0]?.type !== type) return undefined;
  const answers = decodeRecords(bytes, steps);
  return answers === undefined ? undefined : { ...message, answers };
}

/** Decodes the aliases and the records of the question's type. Skips other records by their length. */
function decodeRecords(bytes: Buffer, stepsAt: Uint8Array): Answer[] | undefined {
  const answers: Answer[] = [];
  let strings = 0;
  let steps = 0;
  try {
    let at = endOfName(bytes, headerBytes);
    const asked = bytes.readUInt16BE(at);
    at += 4; // the type and the class
    for (let left = bytes.readUInt16BE(offsets.answers); left > 0 && answers.length < mostRecords; left--) {
      const end = endOfName(bytes, at);
      const type = bytes.readUInt16BE(end);
      const next = end + 10 + bytes.readUInt16BE(end + 8);
      if (next > bytes.length) return undefined;
      if (type === asked || type === cnameType) {
        // The library creates a buffer for each string, even for 64 KiB of empty ones.
        if (type === txtType) strings += stringsBetween(bytes, end + 10, next);
        for (const name of namesOf(bytes, at, type)) steps += stepsAt[name] ?? 0;
        if (strings > mostStrings || steps > mostSteps) return undefined;
        answers.push(recordDecoder.decode(bytes, at));
      }
      at = next;
    }
  } catch {
    return undefined;
  }
  return answers;
}

/** Returns the positions of the names of a record. */
function namesOf(bytes: Buffer, at: number, type: number): readonly number[] {
  const inData = nameInData[type];
  if (inData === undefined) return [at];
  const first = endOfName(bytes, at) + 10 + inData;
  return type === soaType ? [at, first, endOfName(bytes, first)] : [at, first];
}

/** Returns the number of strings, each with its length before it. */
function stringsBetween(bytes: Buffer, start: number, end: number): number {
  let count = 0;
  for (let at = start; at < end; at += 1 + (bytes[at] ?? 0)) count++;
  return count;
}

/** Returns the end of the name that starts at this byte, or a position after the message. */
function endOfName(bytes: Buffer, start: number): number {
  let at = start;
  for (let length = bytes[at]; length !== undefined && length < 0xc0; length = bytes[at]) {
    at += length + 1;
    if (length === 0) return at;
  }
  return at + 2;
}

/**
 * Returns the number of labels and pointers of the name that could start at each byte of a message. It does not depend
 * on the types of records. Other data can look like a name, but random data has few steps.
 *
 * @returns undefined if a name has too many
 */
function stepsOfNames(bytes: Buffer): Uint8Array | undefined {
  const size = bytes.length;
  // The end and the number of the labels that start at each byte. An end outside the message makes the name invalid.
  const ends = new Uint32Array(size);
  const labels = new Uint16Array(size);
  for (let at = size - 1; at >= 0; at--) {
    const length = bytes[at] ?? 0;
    const next = at + 1 + length;
    const isLabel = length > 0 && length < 64;
    ends[at] = isLabel ? (ends[next] ?? size) : at;
    labels[at] = isLabel ? 1 + (labels[next] ?? 0) : 0;
    // The library stops at the first invalid name, so invalid names cost nothing.
    if ((ends[at] ?? size) - at < longestNameBytes && (ends[at] ?? size) < size) continue;
    ends[at] = size;
    labels[at] = 0;
  }
  // Pointers lead to earlier names only, whose steps are known.
  const steps = new Uint8Array(size);
  for (let at = 0; at < size; at++) {
    const end = ends[at] ?? size;
    const isPointer = end + 1 < size && (bytes[end] ?? 0) >= 0xc0;
    const target = isPointer ? bytes.readUInt16BE(end) & 0x3fff : size;
    const count = (labels[at] ?? 0) + (target < at ? 1 + (steps[target] ?? 0) : 0);
    if (count > mostNameSteps) return undefined;
    steps[at] = count;
  }
  return steps;
}
