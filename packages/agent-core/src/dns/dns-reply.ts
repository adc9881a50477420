/** DNS replies: selects the records that answer a question, and encodes replies. */
import { isIP } from "node:net";
import packet, { type Answer } from "dns-packet";
import { type DnsMessage, hasOtherOpcode, headerBytes, isQuery, mostRecords, offsets } from "./dns-message.ts";

/**
 * The supported record types. Others, such as HTTPS, get an empty answer: they can contain addresses unknown to the
 * filters.
 */
export const addressTypes: ReadonlySet<string> = new Set(["A", "AAAA"]);
export const otherTypes: ReadonlySet<string> = new Set(["CNAME", "MX", "SRV", "TXT", "NS", "SOA", "CAA"]);

export const shortestTtlS = 10;
const longestTtlS = 300;
/** The longest answer over UDP if the question allows more than 512 bytes. */
const udpPayloadBytes = 1232;
const plainUdpBytes = 512;
/**
 * The most bytes of the encoded records of a reply. Names are not compressed, so the records can be longer than in the
 * resolver's answer.
 */
const longestRecordsBytes = 16_384;

/** A reply to a question, without the question. Its records are encoded only once, because it can be cached. */
export interface Reply {
  readonly rcode: "NOERROR" | "NXDOMAIN" | "SERVFAIL" | "REFUSED" | "FORMERR" | "NOTIMP";
  readonly count: number;
  readonly records: Buffer;
  readonly addresses: readonly string[];
  readonly ttlMs: number;
}

const rcodes = { NOERROR: 0, FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5 } as const;

export interface DecodedQuestion {
  readonly query: DnsMessage;
  readonly reply: Reply;
}

/** Returns a reply without records. */
export function emptyReply(rcode: Reply["rcode"]): Reply {
  return { rcode, count: 0, records: Buffer.alloc(0), addresses: [], ttlMs: lowestTtlMs([]) };
}

/**
 * Returns the reply for a resolver's answer: a failure if the records are too long or cannot be encoded.
 *
 * @param rcode the response code of the resolver
 * @param answers the selected records
 */
export function replyOf(rcode: string, answers: readonly Answer[]): Reply {
  if (answers.length === 0) return emptyReply(rcode === "NXDOMAIN" ? "NXDOMAIN" : "NOERROR");
  let records: Buffer;
  try {
    records = packet.encode({ type: "response", answers: [...answers] }).subarray(headerBytes);
  } catch {
    // The library decodes the values of CAA records as UTF-8, which can make them longer than a record can be.
    return emptyReply("SERVFAIL");
  }
  if (records.length > longestRecordsBytes) return emptyReply("SERVFAIL");
  const [addresses, ttlMs] = [addressesOf(answers), lowestTtlMs(answers)];
  return { rcode: "NOERROR", count: answers.length, records, addresses, ttlMs };
}

/** Encodes a reply. Over UDP, a reply that is too long is truncated to its question and marked as such. */
export function replyBytes({ query, reply }: DecodedQuestion, over: "udp" | "tcp"): Buffer {
  const head = packet.encode({
    type: "response",
    id: query.id ?? 0,
    flags: packet.RECURSION_AVAILABLE | (query.flag_rd ? packet.RECURSION_DESIRED : 0) | rcodes[reply.rcode],
    questions: (query.questions ?? []).slice(0, 1),
  });
  const size = Math.min(udpPayloadBytes, Math.max(plainUdpBytes, askedSize(query)));
  if (over === "udp" && head.length + reply.records.length > size) {
    head.writeUInt16BE(head.readUInt16BE(offsets.flags) | packet.TRUNCATED_RESPONSE, offsets.flags);
    return head;
  }
  head.writeUInt16BE(reply.count, offsets.answers);
  return Buffer.concat([head, reply.records]);
}

/**
 * Encodes the refusal of a query that has another opcode than QUERY, or no single question.
 *
 * @returns undefined if the bytes are not a query
 */
export function refusalBytes(query: Buffer): Buffer | undefined {
  return headerReplyBytes(query, hasOtherOpcode(query) ? "NOTIMP" : "FORMERR");
}

/**
 * Encodes a reply of a header only, without decoding the query.
 *
 * @returns undefined if the bytes are not a query
 */
export function headerReplyBytes(query: Buffer, rcode: Reply["rcode"]): Buffer | undefined {
  if (!isQuery(query)) return undefined;
  const reply = Buffer.alloc(headerBytes);
  query.copy(reply, 0, 0, 2);
  const opcodeAndRecursion = query.readUInt8(2) & 0x79;
  reply.writeUInt16BE(0x8000 | (opcodeAndRecursion << 8) | packet.RECURSION_AVAILABLE | rcodes[rcode], 2);
  return reply;
}

function askedSize(query: DnsMessage): number {
  const option = query.additionals?.find((one) => one.type === "OPT");
  return option !== undefined && "udpPayloadSize" in option ? Number(option.udpPayloadSize) : plainUdpBytes;
}

/** Returns the first records of the name and of its aliases. All other records are dropped. */
export function answersTo(name: string, type: string, { answers = [] }: DnsMessage): readonly Answer[] {
  const selected: Answer[] = [];
  // Aliases may be in any order.
  const targets = new Map<string, string[]>();
  for (const answer of answers) {
    if (answer.type !== "CNAME") continue;
    const alias = answer.name.toLowerCase();
    const target = String(answer.data).toLowerCase();
    const known = targets.get(alias);
    if (known === undefined) targets.set(alias, [target]);
    else known.push(target);
  }
  const names = new Set([name]);
  // Iterating over a set also visits items that are added meanwhile.
  for (const known of names) for (const target of targets.get(known) ?? []) names.add(target);
  for (const answer of answers) {
    if (selected.length === mostRecords) break;
    if (!("ttl" in answer) || (answer.type !== type && answer.type !== "CNAME")) continue;
    if (!names.has(answer.name.toLowerCase())) continue;
    const ttl = Math.min(longestTtlS, Math.max(shortestTtlS, Number(answer.ttl ?? 0)));
    selected.push({ ...answer, ttl } as Answer); // the same record with another TTL
  }
  return selected;
}

export function addressesOf(answers: readonly Answer[]): readonly string[] {
  return answers.flatMap((answer) =>
    addressTypes.has(answer.type) && "data" in answer && isIP(String(answer.data)) !== 0 ? [String(answer.data)] : [],
  );
}

export function lowestTtlMs(answers: readonly Answer[]): number {
  const ttls = answers.map((answer) => ("ttl" in answer ? Number(answer.ttl ?? shortestTtlS) : shortestTtlS));
  return 1000 * (ttls.length === 0 ? shortestTtlS : Math.min(...ttls));
}

export function isHostName(name: string): boolean {
  return name.length <= 253 && /^[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?$/.test(name);
}
