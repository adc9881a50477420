/** Queries resolvers. Each question uses its own UDP port, and TCP if the answer is truncated. */
import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { getServers } from "node:dns";
import { connect, isIP } from "node:net";
import type { ConfigurationContent } from "@gatehouse/agent-protocol/gateway/configuration";
import packet, { type Question } from "dns-packet";
import { type DnsMessage, decodeAnswer } from "./dns-message.ts";

const port = 53;
const timeoutMs = 2_000;
/** The maximum size of an answer over UDP, in bytes (DNS Flag Day 2020). */
const udpPayloadBytes = 1232;
const longestAnswerBytes = 65_535;

export interface UpstreamQuestion {
  readonly name: string;
  readonly type: string;
}

/** @returns the answer; undefined if no resolver answers */
export type AskUpstream = (question: UpstreamQuestion, resolvers: readonly string[]) => Promise<DnsMessage | undefined>;

/** Returns the resolvers of a name: those of the longest matching domain, else the site's, else the machine's. */
export function resolversOf({ settings }: ConfigurationContent, name: string): readonly string[] {
  const { domains, resolvers } = settings.dns;
  const [longest] = domains
    .filter(({ domain }) => name === domain || name.endsWith(`.${domain}`))
    .sort((left, right) => right.domain.length - left.domain.length);
  if (longest !== undefined) return longest.resolvers;
  return resolvers.length > 0 ? resolvers : machineResolvers();
}

/** Returns all resolvers that a gateway uses. */
export function resolverAddresses({
  dns: { domains, resolvers },
}: ConfigurationContent["settings"]): readonly string[] {
  const ofSite = resolvers.length > 0 ? resolvers : machineResolvers();
  return [...new Set([...ofSite, ...domains.flatMap((domain) => domain.resolvers)])];
}

/** Returns the machine's resolvers on port 53, without those that have a zone or a port. */
function machineResolvers(): readonly string[] {
  return getServers().filter((server) => isIP(server) !== 0 && !server.includes("%"));
}

export const askUpstream: AskUpstream = async ({ name, type }, resolvers) => {
  for (const resolver of resolvers) {
    // An attacker who cannot see the question has to guess its id and source port.
    const id = randomInt(0, 65_536);
    const query = packet.encode({
      type: "query",
      id,
      flags: packet.RECURSION_DESIRED,
      questions: [{ name, type } as Question], // `dns-reply.ts` lists the types
      additionals: [{ type: "OPT", name: ".", udpPayloadSize: udpPayloadBytes, flags: 0, options: [] } as never], // the types require fields that the library fills in
    });
    const overUdp = await udpAnswer(query, resolver);
    let answer = overUdp === undefined ? undefined : readAnswer(overUdp, id, name, type);
    if (answer?.flag_tc === true) {
      const overTcp = await tcpAnswer(query, resolver);
      answer = overTcp === undefined ? undefined : readAnswer(overTcp, id, name, type);
    }
    if (answer !== undefined && (answer.rcode === "NOERROR" || answer.rcode === "NXDOMAIN")) return answer;
  }
  return undefined;
};

/**
 * Forwards an unchanged question, and returns the first answer.
 *
 * @returns undefined if no resolver answers
 */
export async function forwardQuestion(
  question: Buffer,
  over: "udp" | "tcp",
  resolvers: readonly string[],
): Promise<Buffer | undefined> {
  if (question.length < 2) return undefined;
  for (const resolver of resolvers) {
    const query = Buffer.from(question);
    query.writeUInt16BE(randomInt(0, 65_536));
    const answer = await (over === "udp" ? udpAnswer : tcpAnswer)(query, resolver);
    if (answer === undefined || answer.readUInt16BE(0) !== query.readUInt16BE(0)) continue;
    question.copy(answer, 0, 0, 2);
    return answer;
  }
  return undefined;
}

/** @returns undefined if the bytes do not answer this question */
function readAnswer(bytes: Buffer, id: number, name: string, type: string): DnsMessage | undefined {
  const answer = decodeAnswer(bytes, type);
  const [question] = answer?.questions ?? [];
  const isMine = answer?.id === id && answer.type === "response";
  return isMine && question?.name.toLowerCase() === name ? answer : undefined;
}

function udpAnswer(query: Buffer, resolver: string): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const socket = createSocket(isIP(resolver) === 6 ? "udp6" : "udp4");
    let hasEnded = false;
    const end = (answer: Buffer | undefined) => {
      if (hasEnded) return;
      hasEnded = true;
      clearTimeout(timer);
      socket.close();
      resolve(answer);
    };
    const timer = setTimeout(() => end(undefined), timeoutMs);
    socket.on("error", () => end(undefined));
    // The socket is connected, so the kernel drops packets from other sources. Answers with a wrong id are ignored.
    socket.on("message", (bytes) => {
      if (bytes.length >= 2 && bytes.readUInt16BE(0) === query.readUInt16BE(0)) end(bytes);
    });
    // The callback also receives errors, such as an unreachable network.
    socket.connect(port, resolver, (error?: Error) => {
      if (error === undefined) socket.send(query);
      else end(undefined);
    });
  });
}

function tcpAnswer(query: Buffer, resolver: string): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, resolver);
    const chunks: Buffer[] = [];
    let size = 0;
    const end = (answer: Buffer | undefined) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    const timer = setTimeout(() => end(undefined), timeoutMs);
    socket.once("error", () => end(undefined));
    socket.once("close", () => end(undefined));
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size > longestAnswerBytes + 2) return end(undefined);
      const all = Buffer.concat(chunks);
      if (all.length >= 2 && all.length >= 2 + all.readUInt16BE(0)) end(all.subarray(2, 2 + all.readUInt16BE(0)));
    });
    socket.write(Buffer.concat([Buffer.from([query.length >> 8, query.length & 255]), query]));
  });
}
