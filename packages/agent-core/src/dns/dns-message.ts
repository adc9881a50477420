import packet, { type DecodedPacket } from "dns-packet";

/** What the library reads, with two fields that its types leave out. */
export interface DnsMessage extends DecodedPacket {
  readonly opcode: string;
  readonly rcode: string;
}

/** @returns undefined where the bytes are no message of DNS */
export function decodeMessage(bytes: Buffer): DnsMessage | undefined {
  try {
    return packet.decode(bytes) as DnsMessage; // the library sets both always
  } catch {
    return undefined;
  }
}
