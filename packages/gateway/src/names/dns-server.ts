/**
 * Answers DNS on the gateway's addresses in the tunnel: to devices alone, and to each only for names that it may reach. The addresses of an
 * answer are in the filters before the answer leaves.
 */
import { createSocket, type RemoteInfo, type Socket as UdpSocket } from "node:dgram";
import { createServer, isIP, type Server, type Socket } from "node:net";
import type { ConfigurationContent } from "@gatehouse/contract/gateway-link/configuration";
import packet, { type Answer, type Question } from "dns-packet";
import { isWithin, parseIpBlock } from "../addresses/ip-block.ts";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { AnswerCache } from "./answer-cache.ts";
import { type DnsMessage, decodeMessage } from "./dns-message.ts";
import { deviceAt, nameAccess } from "./name-access.ts";
import type { ResolvedNames } from "./resolved-names.ts";
import { type AskUpstream, resolversOf } from "./upstream.ts";

/** What is passed on. Others, such as HTTPS, get an empty answer: they can hold addresses that the filters do not know. */
const addressTypes: ReadonlySet<string> = new Set(["A", "AAAA"]);
const otherTypes: ReadonlySet<string> = new Set(["CNAME", "MX", "SRV", "TXT", "NS", "SOA", "CAA"]);

const shortestTtlS = 10;
const longestTtlS = 300;
const mostQuestionsAtOnce = 512;
const mostQuestionsOfADevice = 64;
/** What an answer over UDP has at most, where the question allows more than 512 bytes. */
const udpPayloadBytes = 1232;
const plainUdpBytes = 512;
const mostTcpConnections = 128;
const tcpIdleMs = 10_000;
const longestQuestionBytes = 4096;
/** A name that no resolver answers for is tried again after this time, in milliseconds. */
const retryMs = 15_000;
const refreshesAtOnce = 16;

/** Never the address of something at the site: machines themselves, links, groups of machines. */
const senselessBlocks = [
  "0.0.0.0/8",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "224.0.0.0/3",
  "::/127",
  "::ffff:0:0/96",
  "fe80::/10",
  "ff00::/8",
]
  .map(parseIpBlock)
  .filter((block) => block !== undefined);

interface DnsServerParts {
  /** What is enforced now. */
  readonly content: () => ConfigurationContent | undefined;
  readonly names: ResolvedNames;
  /** Puts new addresses into the filters; back when they are there. */
  readonly namesChanged: () => Promise<void>;
  readonly askUpstream: AskUpstream;
  readonly clock: Clock;
  readonly log: Log;
  /** The port, 53 but in tests. */
  readonly port: number;
}

interface Reply {
  readonly rcode: "NOERROR" | "NXDOMAIN" | "SERVFAIL" | "REFUSED" | "FORMERR" | "NOTIMP";
  readonly answers: readonly Answer[];
}

const rcodes = { NOERROR: 0, FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5 } as const;

export class DnsServer {
  readonly #parts: DnsServerParts;
  readonly #cache = new AnswerCache<Reply>();
  readonly #asking = new Map<string, Promise<Reply>>();
  readonly #questionsOf = new Map<string, number>();
  #questions = 0;
  #bound = "";
  #problem: string | undefined;
  #close: (() => void)[] = [];
  #cancelTimer: (() => void) | undefined;

  constructor(parts: DnsServerParts) {
    this.#parts = parts;
  }

  /** Listens on the addresses of a configuration, and resolves the names that it spells out. */
  async follow(content: ConfigurationContent | undefined): Promise<void> {
    this.#cache.clear();
    await this.#bind(content);
    this.#keepFresh();
  }

  /** Why names are not answered, for people; undefined where they are. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** What is enforced does not depend on it: a gateway that answers no names is one all the same. */
  async #bind(content: ConfigurationContent | undefined): Promise<void> {
    const { port, log } = this.#parts;
    const own = content?.settings.interface;
    const addresses = own === undefined ? [] : [own.ipv4, own.ipv6];
    const wanted = addresses.join(" ");
    if (wanted === this.#bound) return;
    this.#closeSockets();
    let problem: string | undefined;
    try {
      for (const address of addresses) await this.#listen(address);
      this.#bound = wanted;
    } catch (error) {
      this.#closeSockets();
      const reason = error instanceof Error ? error.message : String(error);
      problem = `Names are not answered on ${addresses.join(" and ")}, port ${port}: ${reason}. Does another program listen on that port of all addresses?`;
    }
    if (problem !== this.#problem) log(problem ?? "Names are answered again.");
    this.#problem = problem;
  }

  stop(): void {
    this.#cancelTimer?.();
    this.#closeSockets();
  }

  /** Asks again for names whose answers are over, and forgets addresses that are. Calls itself again. */
  async refresh(): Promise<void> {
    const { content: current, names, clock, namesChanged } = this.#parts;
    const content = current();
    if (content === undefined) return;
    let isChanged = names.forget(clock.now());
    const stale = [...names.stale(content, clock.now())];
    const work = async () => {
      for (let name = stale.pop(); name !== undefined; name = stale.pop()) {
        isChanged = (await this.#refreshName(content, name)) || isChanged;
      }
    };
    await Promise.all(Array.from({ length: refreshesAtOnce }, work));
    if (isChanged) await namesChanged();
  }

  /**
   * Answers one question.
   *
   * @param from the address that it came from, which WireGuard vouches for
   * @returns undefined where it is nobody's who may ask
   */
  async answer(question: Buffer, from: string): Promise<DecodedQuestion | undefined> {
    const content = this.#parts.content();
    const device = content === undefined ? undefined : deviceAt(content, from);
    if (content === undefined || device === undefined) return undefined;
    const query = decodeMessage(question);
    if (query === undefined) return undefined;
    const [asked] = query.questions ?? [];
    const reply = await this.#withinLimits(device, async () => {
      if (query.type !== "query" || query.opcode !== "QUERY") return { rcode: "NOTIMP", answers: [] } as const;
      if (asked === undefined || query.questions?.length !== 1) return { rcode: "FORMERR", answers: [] } as const;
      return this.#replyTo(content, device, asked);
    });
    return { query, reply };
  }

  async #replyTo(content: ConfigurationContent, device: string, question: Question): Promise<Reply> {
    const name = question.name.toLowerCase().replace(/\.$/, "");
    if (!isHostName(name)) return { rcode: "REFUSED", answers: [] };
    const access = nameAccess(content, device, name, this.#parts.clock.now());
    if (access === "refused") return { rcode: "REFUSED", answers: [] };
    const isAddress = addressTypes.has(question.type);
    if (!isAddress && !otherTypes.has(question.type)) return { rcode: "NOERROR", answers: [] };
    const reply = await this.#resolve(content, name, question.type);
    if (!isAddress || access !== "destination" || reply.rcode !== "NOERROR") return reply;
    const { names, clock, namesChanged } = this.#parts;
    // Also an answer out of the cache: the device may use it for its time to live, so the filters have to have it for that long.
    if (names.learn(name, addressesOf(reply.answers), lowestTtlMs(reply.answers), clock.now(), true))
      await namesChanged();
    return reply;
  }

  /** From the cache, else from the resolvers, each question once at a time. */
  #resolve(content: ConfigurationContent, name: string, type: string): Promise<Reply> {
    const key = `${type} ${name}`;
    const kept = this.#cache.get(key, this.#parts.clock.now());
    if (kept !== undefined) return Promise.resolve(kept);
    const asking = this.#asking.get(key) ?? this.#ask(content, name, type).finally(() => this.#asking.delete(key));
    this.#asking.set(key, asking);
    return asking;
  }

  async #ask(content: ConfigurationContent, name: string, type: string): Promise<Reply> {
    const answer = await this.#parts.askUpstream({ name, type }, resolversOf(content, name));
    if (answer === undefined) return { rcode: "SERVFAIL", answers: [] };
    const pools = content.settings.interface.pools.map(parseIpBlock).filter((pool) => pool !== undefined);
    const answers = answersTo(name, type, answer).filter(
      (one) =>
        !("data" in one) || !addressTypes.has(one.type) || !isWithin(String(one.data), [...senselessBlocks, ...pools]),
    );
    const rcode = answer.rcode === "NXDOMAIN" && answers.length === 0 ? "NXDOMAIN" : "NOERROR";
    const reply: Reply = { rcode, answers };
    this.#cache.set(`${type} ${name}`, reply, this.#parts.clock.now() + lowestTtlMs(answers));
    return reply;
  }

  async #refreshName(content: ConfigurationContent, name: string): Promise<boolean> {
    const { names, clock } = this.#parts;
    const replies = await Promise.all([...addressTypes].map((type) => this.#resolve(content, name, type)));
    const answers = replies.flatMap((reply) => reply.answers);
    if (addressesOf(answers).length === 0) {
      names.postpone(name, clock.now() + retryMs);
      return false;
    }
    return names.learn(name, addressesOf(answers), lowestTtlMs(answers), clock.now(), false);
  }

  #keepFresh(): void {
    const { clock, log } = this.#parts;
    this.#cancelTimer?.();
    const again = () => {
      this.#cancelTimer = clock.after((shortestTtlS * 1000) / 2, () => this.#keepFresh());
    };
    // A port that was taken may be free by now.
    const bound = this.#problem === undefined ? Promise.resolve() : this.#bind(this.#parts.content());
    bound
      .then(() => this.refresh())
      .catch((error: unknown) => log(`Names could not be kept fresh: ${String(error)}`))
      .finally(again);
  }

  async #withinLimits(device: string, work: () => Promise<Reply>): Promise<Reply> {
    const ofDevice = this.#questionsOf.get(device) ?? 0;
    if (this.#questions >= mostQuestionsAtOnce || ofDevice >= mostQuestionsOfADevice)
      return { rcode: "SERVFAIL", answers: [] };
    this.#questions++;
    this.#questionsOf.set(device, ofDevice + 1);
    try {
      return await work();
    } catch (error) {
      // Also where the filters did not take the addresses: the device must not be told of what it cannot reach.
      this.#parts.log(`A question could not be answered: ${String(error)}`);
      return { rcode: "SERVFAIL", answers: [] };
    } finally {
      this.#questions--;
      const left = (this.#questionsOf.get(device) ?? 1) - 1;
      if (left === 0) this.#questionsOf.delete(device);
      else this.#questionsOf.set(device, left);
    }
  }

  async #listen(address: string): Promise<void> {
    const { port, log } = this.#parts;
    const udp = createSocket({ type: isIP(address) === 6 ? "udp6" : "udp4", ipv6Only: isIP(address) === 6 });
    const tcp = createServer((socket) => this.#serveTcp(socket));
    tcp.maxConnections = mostTcpConnections;
    this.#close.push(
      () => udp.close(),
      () => tcp.close(),
    );
    udp.on("message", (question, from) => void this.#serveUdp(udp, question, from));
    await new Promise<void>((resolve, reject) => {
      udp.once("error", reject);
      udp.bind(port, address, resolve);
    });
    await listening(tcp, port, address);
    udp.on("error", (error) => log(`DNS on ${address}: ${error.message}`));
  }

  async #serveUdp(socket: UdpSocket, question: Buffer, from: RemoteInfo): Promise<void> {
    const done = await this.answer(question, from.address);
    if (done === undefined) return;
    const size = Math.min(udpPayloadBytes, Math.max(plainUdpBytes, askedSize(done.query)));
    const bytes = encodeReply(done);
    const fitting =
      bytes.length <= size ? bytes : encodeReply({ ...done, reply: { ...done.reply, answers: [] } }, true);
    // The socket may be closed by now, where another configuration came meanwhile.
    try {
      socket.send(fitting, from.port, from.address, () => {});
    } catch {}
  }

  #serveTcp(socket: Socket): void {
    let received: Buffer = Buffer.alloc(0);
    socket.setTimeout(tcpIdleMs, () => socket.destroy());
    socket.on("error", () => socket.destroy());
    socket.on("data", (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (received.length > longestQuestionBytes) {
        socket.destroy();
        return;
      }
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
      const question = received.subarray(2, 2 + received.readUInt16BE(0));
      received = Buffer.alloc(0);
      // One question at a time: the next is read when this one is answered.
      socket.pause();
      void this.answer(question, socket.remoteAddress ?? "").then((done) => {
        if (done === undefined) {
          socket.destroy();
          return;
        }
        const bytes = encodeReply(done);
        socket.write(Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes]));
        socket.resume();
      });
    });
  }

  #closeSockets(): void {
    for (const close of this.#close.splice(0)) {
      try {
        close();
      } catch {
        // One that never listened.
      }
    }
    this.#bound = "";
  }
}

interface DecodedQuestion {
  readonly query: DnsMessage;
  readonly reply: Reply;
}

function encodeReply({ query, reply }: DecodedQuestion, isTruncated = false): Buffer {
  return packet.encode({
    type: "response",
    id: query.id ?? 0,
    flags:
      packet.RECURSION_AVAILABLE |
      (query.flag_rd ? packet.RECURSION_DESIRED : 0) |
      (isTruncated ? packet.TRUNCATED_RESPONSE : 0) |
      rcodes[reply.rcode],
    questions: (query.questions ?? []).slice(0, 1),
    answers: [...reply.answers],
  });
}

function askedSize(query: DnsMessage): number {
  const option = query.additionals?.find((one) => one.type === "OPT");
  return option !== undefined && "udpPayloadSize" in option ? Number(option.udpPayloadSize) : plainUdpBytes;
}

/** The records that answer the question: those of the name, and of what it is an alias of. Whatever else came along is left out. */
function answersTo(name: string, type: string, { answers = [] }: DnsMessage): readonly Answer[] {
  const kept: Answer[] = [];
  const names = new Set([name]);
  // Aliases may stand in any order; a chain is no longer than the list.
  for (let round = 0; round <= answers.length; round++) {
    const size = names.size;
    for (const answer of answers) {
      if (answer.type === "CNAME" && names.has(answer.name.toLowerCase())) names.add(String(answer.data).toLowerCase());
    }
    if (names.size === size) break;
  }
  for (const answer of answers) {
    if (!("ttl" in answer) || (answer.type !== type && answer.type !== "CNAME")) continue;
    if (!names.has(answer.name.toLowerCase())) continue;
    const ttl = Math.min(longestTtlS, Math.max(shortestTtlS, Number(answer.ttl ?? 0)));
    kept.push({ ...answer, ttl } as Answer); // the same record but for its time to live
  }
  return kept;
}

function addressesOf(answers: readonly Answer[]): readonly string[] {
  return answers.flatMap((answer) =>
    addressTypes.has(answer.type) && "data" in answer && isIP(String(answer.data)) !== 0 ? [String(answer.data)] : [],
  );
}

function lowestTtlMs(answers: readonly Answer[]): number {
  const ttls = answers.map((answer) => ("ttl" in answer ? Number(answer.ttl ?? shortestTtlS) : shortestTtlS));
  return 1000 * (ttls.length === 0 ? shortestTtlS : Math.min(...ttls));
}

function isHostName(name: string): boolean {
  return name.length <= 253 && /^[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?$/.test(name);
}

function listening(server: Server, port: number, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host: address, ipv6Only: isIP(address) === 6 }, () => {
      server.off("error", reject);
      server.on("error", () => {});
      resolve();
    });
  });
}
