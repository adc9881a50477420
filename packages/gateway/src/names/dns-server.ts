/**
 * Answers DNS on the gateway's addresses in the tunnel: to devices alone, and to each only for names that it may reach. The addresses of an
 * answer are in the filters before the answer leaves.
 */

import { isWithin, parseIpBlock } from "@gatehouse/addresses/ip-block";
import type { Clock } from "@gatehouse/agent-core/clock";
import { decodeMessage } from "@gatehouse/agent-core/dns/dns-message";
import {
  addressesOf,
  addressTypes,
  answersTo,
  type DecodedQuestion,
  isHostName,
  lowestTtlMs,
  otherTypes,
  type Reply,
  replyBytes,
  senselessBlocks,
  shortestTtlS,
} from "@gatehouse/agent-core/dns/dns-reply";
import { DnsSockets } from "@gatehouse/agent-core/dns/dns-sockets";
import type { ResolvedNames } from "@gatehouse/agent-core/dns/resolved-names";
import { type AskUpstream, resolversOf } from "@gatehouse/agent-core/dns/upstream";
import type { Log } from "@gatehouse/agent-core/log";
import type { ConfigurationContent } from "@gatehouse/agent-protocol/gateway/configuration";
import type { Question } from "dns-packet";
import { AnswerCache } from "./answer-cache.ts";
import { deviceAt, nameAccess } from "./name-access.ts";

const mostQuestionsAtOnce = 512;
const mostQuestionsOfADevice = 64;
/** A name that no resolver answers for is tried again after this time, in milliseconds. */
const retryMs = 15_000;
const refreshesAtOnce = 16;

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

export class DnsServer {
  readonly #parts: DnsServerParts;
  readonly #cache = new AnswerCache<Reply>();
  readonly #asking = new Map<string, Promise<Reply>>();
  readonly #questionsOf = new Map<string, number>();
  #questions = 0;
  #bound = "";
  readonly #sockets: DnsSockets;
  #problem: string | undefined;
  #cancelTimer: (() => void) | undefined;

  constructor(parts: DnsServerParts) {
    this.#parts = parts;
    this.#sockets = new DnsSockets(async (question, from, over) => {
      const done = await this.answer(question, from);
      return done === undefined ? undefined : replyBytes(done, over);
    }, parts.log);
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
      for (const address of addresses) await this.#sockets.listen(address, port);
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

  #closeSockets(): void {
    this.#sockets.close();
    this.#bound = "";
  }
}
