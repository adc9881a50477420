/**
 * Serves DNS on the gateway's tunnel addresses. Only devices get answers, and only for names that they may reach. The
 * filters have the addresses of an answer before the answer is sent.
 */

import { isWithin, parseIpBlock } from "@gatehouse/addresses/ip-block";
import { nonRoutableBlocks } from "@gatehouse/addresses/special-purpose";
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
  shortestTtlS,
} from "@gatehouse/agent-core/dns/dns-reply";
import { DnsSockets } from "@gatehouse/agent-core/dns/dns-sockets";
import type { ResolvedNames } from "@gatehouse/agent-core/dns/resolved-names";
import { type AskUpstream, resolversOf } from "@gatehouse/agent-core/dns/upstream";
import { errorMessage, type Log } from "@gatehouse/agent-core/log";
import type { ConfigurationContent } from "@gatehouse/agent-protocol/gateway/configuration";
import type { Question } from "dns-packet";
import { AnswerCache } from "./answer-cache.ts";
import { deviceAt, nameAccess } from "./name-access.ts";

const mostQuestions = 512;
const mostDeviceQuestions = 64;
/** The interval of retries for a name that could not be resolved. */
const retryMs = 15_000;
const concurrentRefreshes = 16;

interface DnsServerParts {
  /** Returns the enforced content. */
  readonly content: () => ConfigurationContent | undefined;
  readonly names: ResolvedNames;
  /** Applies new addresses to the filters. Resolves when the kernel has them. */
  readonly namesChanged: () => Promise<void>;
  readonly askUpstream: AskUpstream;
  readonly clock: Clock;
  readonly log: Log;
  /** 53, except in tests. */
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

  /** Listens on the addresses of a configuration, and resolves its exact names. */
  async follow(content: ConfigurationContent | undefined): Promise<void> {
    this.#cache.clear();
    await this.#bind(content);
    this.#scheduleRefresh();
  }

  /** Why DNS is not served, for people; undefined: it is. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Listens on the configured addresses. A failure does not affect enforcement. */
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
      problem = `DNS is not served on ${addresses.join(" and ")}, port ${port}: ${errorMessage(error)}. Check whether another program listens on this port.`;
      if (problem !== this.#problem) log("failed to serve DNS; will retry", { addresses, port, err: error });
    }
    if (problem === undefined && this.#problem !== undefined) log("serving DNS again", { addresses, port });
    this.#problem = problem;
  }

  stop(): void {
    this.#cancelTimer?.();
    this.#closeSockets();
  }

  /** Resolves names with expired answers again, and forgets expired addresses. */
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
    await Promise.all(Array.from({ length: concurrentRefreshes }, work));
    if (isChanged) await namesChanged();
  }

  /**
   * Answers one question.
   *
   * @param from the source address, which WireGuard has verified
   * @returns undefined if the source is not a device
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
    // This includes cached answers: the filters must have the addresses for the whole TTL of the answer.
    if (names.learn(name, addressesOf(reply.answers), lowestTtlMs(reply.answers), clock.now(), true))
      await namesChanged();
    return reply;
  }

  /** From the cache, else from the resolvers, each question once at a time. */
  #resolve(content: ConfigurationContent, name: string, type: string): Promise<Reply> {
    const key = `${type} ${name}`;
    const cached = this.#cache.get(key, this.#parts.clock.now());
    if (cached !== undefined) return Promise.resolve(cached);
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
        !("data" in one) ||
        !addressTypes.has(one.type) ||
        !isWithin(String(one.data), [...nonRoutableBlocks, ...pools]),
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

  #scheduleRefresh(): void {
    const { clock, log } = this.#parts;
    this.#cancelTimer?.();
    const reschedule = () => {
      this.#cancelTimer = clock.after((shortestTtlS * 1000) / 2, () => this.#scheduleRefresh());
    };
    // A port that was in use may be free now.
    const bound = this.#problem === undefined ? Promise.resolve() : this.#bind(this.#parts.content());
    bound
      .then(() => this.refresh())
      .catch((err: unknown) => log("failed to refresh names; will retry", { err }))
      .finally(reschedule);
  }

  async #withinLimits(device: string, work: () => Promise<Reply>): Promise<Reply> {
    const ofDevice = this.#questionsOf.get(device) ?? 0;
    if (this.#questions >= mostQuestions || ofDevice >= mostDeviceQuestions) return { rcode: "SERVFAIL", answers: [] };
    this.#questions++;
    this.#questionsOf.set(device, ofDevice + 1);
    try {
      return await work();
    } catch (err) {
      // If the filters lack the addresses, the device must not get an answer that it cannot use.
      this.#parts.log("failed to answer a DNS question", { err });
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
