import packet, { type DecodedPacket } from "dns-packet";

/** A decoded message, with two fields that the library's types omit. */
export interface DnsMessage extends DecodedPacket {
  readonly opcode: string;
  readonly rcode: string;
}

/** @returns undefined if the bytes are not a DNS message */
export function decodeMessage(bytes: Buffer): DnsMessage | undefined {
  try {
    return packet.decode(bytes) as DnsMessage; // the library always sets both
  } catch {
    return undefined;
  }
}
