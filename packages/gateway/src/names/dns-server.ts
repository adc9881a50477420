/**
 * Serves DNS on the gateway's tunnel addresses. Only devices get answers, and only for names that they may reach. The
 * filters have the addresses of an answer before the answer is sent.
 */

import type { Clock } from "@gatehouse/agent-core/clock";
import { decodeQuestion } from "@gatehouse/agent-core/dns/dns-message";
import {
  addressTypes,
  answersTo,
  emptyReply,
  isHostName,
  otherTypes,
  type Reply,
  refusalBytes,
  replyBytes,
  replyOf,
  shortestTtlS,
} from "@gatehouse/agent-core/dns/dns-reply";
import { DnsSockets } from "@gatehouse/agent-core/dns/dns-sockets";
import { destinationOfName } from "@gatehouse/agent-core/dns/named-services";
import { type AskUpstream, resolversOf } from "@gatehouse/agent-core/dns/upstream";
import { errorMessage, type Log } from "@gatehouse/agent-core/log";
import type { ConfigurationContent } from "@gatehouse/agent-protocol/gateway/configuration";
import type { Answer, Question } from "dns-packet";
import { AnswerCache } from "./answer-cache.ts";
import { AnswerFilter } from "./answer-filter.ts";
import { type LearnedNames, nameLimits } from "./learned-names.ts";
import { deviceAt, nameAccess } from "./name-access.ts";
import { RateBudget } from "./rate-budget.ts";

/**
 * The most questions that wait for an answer, and the share of the free slots that one device may use. A device whose
 * names are never answered thus leaves slots to the others.
 */
const mostQuestions = 512;
const deviceShare = 1 / 7;
/** The most DNS connections over TCP of one device. Clients need one (RFC 7766, section 6.2.2). */
const mostDeviceConnections = 8;
/** The interval of retries for a name that could not be resolved. */
const retryMs = 15_000;
const concurrentRefreshes = 16;
/**
 * Questions per second: accepted from one device; sent to resolvers for all devices; for one device; and to resolve
 * names again.
 */
const budgets = {
  questions: { perSecond: 200, most: 1_000 },
  devices: { perSecond: 200, most: 400 },
  device: { perSecond: 20, most: 100 },
  refresh: { perSecond: 50, most: 250 },
} as const;
/** The share of the common query budget that is reserved for devices with few queries. */
const reservedShare = 1 / 2;
/** The interval at which bursts of new addresses are applied together. */
const gatherMs = 25;

interface DnsServerParts {
  /** Returns the enforced content. */
  readonly content: () => ConfigurationContent | undefined;
  /** Whether the gateway has its IPv6 address; if absent, it has. */
  readonly hasIpv6?: () => boolean;
  readonly names: LearnedNames;
  readonly filter: AnswerFilter;
  /** Returns the addresses of names that received packets since the previous call. */
  readonly usedAddresses: () => Promise<ReadonlySet<string>>;
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
  readonly #budget = budgetOf("devices");
  readonly #refreshBudget = budgetOf("refresh");
  readonly #budgetOf = new Map<string, RateBudget>();
  readonly #questionBudgetOf = new Map<string, RateBudget>();
  /** New addresses that are being applied, and those that wait for them. */
  #applying: Promise<void> | undefined;
  #gathered: Promise<void> | undefined;
  #questions = 0;
  #bound = "";
  /** The content whose addresses are served. */
  #followed: ConfigurationContent | undefined;
  readonly #sockets: DnsSockets;
  #problem: string | undefined;
  #cancelTimer: (() => void) | undefined;

  constructor(parts: DnsServerParts) {
    this.#parts = parts;
    const { clock, log } = parts;
    this.#sockets = new DnsSockets({
      answer: (question, from, over) => this.answer(question, from, over),
      clientOf: (from) => this.#deviceAt(from),
      mostPerClient: mostDeviceConnections,
      clock,
      log,
    });
  }

  /** Listens on the addresses of a configuration, and resolves its exact names. */
  async follow(content: ConfigurationContent | undefined): Promise<void> {
    this.#cache.clear();
    this.#followed = content;
    await this.#bind();
    this.#scheduleRefresh();
  }

  /** Why DNS is not served, for people; undefined: it is. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Listens on the configured addresses. A failure does not affect enforcement. */
  async #bind(): Promise<void> {
    const { port, log, hasIpv6 = () => true } = this.#parts;
    const own = this.#followed?.settings.interface;
    const addresses = own === undefined ? [] : [own.ipv4, ...(hasIpv6() ? [own.ipv6] : [])];
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
    const { content: current, names, clock, usedAddresses } = this.#parts;
    const content = current();
    if (content === undefined) return;
    for (const ofDevices of [this.#budgetOf, this.#questionBudgetOf]) {
      for (const [device, budget] of ofDevices) if (budget.isFull(clock.elapsedMs())) ofDevices.delete(device);
    }
    if (names.needsUse(clock.elapsedMs())) names.used(await usedAddresses(), clock.elapsedMs());
    let isChanged = names.forget(clock.elapsedMs());
    const stale = [...names.stale(content, clock.elapsedMs())];
    const work = async () => {
      for (let name = stale.pop(); name !== undefined; name = stale.pop()) {
        // Other names wait for the next refresh.
        if (!this.#refreshBudget.take(clock.elapsedMs()) || !this.#refreshBudget.take(clock.elapsedMs())) return;
        isChanged = (await this.#refreshName(content, name)) || isChanged;
      }
    };
    await Promise.all(Array.from({ length: concurrentRefreshes }, work));
    if (isChanged) await this.#applyNames();
  }

  /**
   * Answers one question.
   *
   * @param from the source address, which WireGuard has verified
   * @returns undefined if the source is not a device, sends too many questions, or did not send a query
   */
  async answer(question: Buffer, from: string, over: "udp" | "tcp"): Promise<Buffer | undefined> {
    const content = this.#parts.content();
    const device = content === undefined ? undefined : deviceAt(content, from);
    if (content === undefined || device === undefined) return undefined;
    // A flood must not use the processor time that the enforcement of a revocation needs.
    if (!this.#mayQuestion(device)) return undefined;
    const query = decodeQuestion(question);
    const [asked] = query?.questions ?? [];
    if (query?.opcode !== "QUERY" || asked === undefined) return refusalBytes(question);
    const reply = await this.#withinLimits(device, () => this.#replyTo(content, device, asked));
    return replyBytes({ query, reply }, over);
  }

  async #replyTo(content: ConfigurationContent, device: string, question: Question): Promise<Reply> {
    const name = question.name.toLowerCase().replace(/\.$/, "");
    if (!isHostName(name)) return emptyReply("REFUSED");
    const access = nameAccess(content, device, name, this.#parts.clock.now());
    if (access === "refused") return emptyReply("REFUSED");
    const isAddress = addressTypes.has(question.type);
    if (!isAddress && !otherTypes.has(question.type)) return emptyReply("NOERROR");
    const reply = await this.#resolve(content, name, question.type, () => this.#mayAsk(device));
    const key = destinationOfName(content, name);
    if (!isAddress || access !== "destination" || reply.rcode !== "NOERROR" || key === undefined) return reply;
    const { names, clock } = this.#parts;
    // This includes cached answers: the filters must have the addresses for the whole TTL of the answer.
    const learned = names.learn({ name, key }, reply.addresses, reply.ttlMs, clock.elapsedMs(), device);
    if (learned === "full") return emptyReply("SERVFAIL");
    // Another question may have learned the addresses just now, and the kernel does not have them yet.
    if (learned || this.#applying !== undefined) await this.#applyNames();
    return reply;
  }

  #deviceAt(from: string): string | undefined {
    const content = this.#parts.content();
    return content === undefined ? undefined : deviceAt(content, from);
  }

  #mayQuestion(device: string): boolean {
    const budget = this.#questionBudgetOf.get(device) ?? budgetOf("questions");
    this.#questionBudgetOf.set(device, budget);
    return budget.take(this.#parts.clock.elapsedMs());
  }

  #mayAsk(device: string): boolean {
    const now = this.#parts.clock.elapsedMs();
    const budget = this.#budgetOf.get(device) ?? budgetOf("device");
    this.#budgetOf.set(device, budget);
    if (!budget.take(now)) return false;
    // The more queries a device has used, the more it must leave to the other devices.
    return this.#budget.take(now, budget.used * reservedShare * budgets.devices.most);
  }

  /**
   * Applies new addresses. While the kernel applies some, all others are gathered for one later change, so that a burst
   * of answers does not rewrite the filters for each of them.
   */
  #applyNames(): Promise<void> {
    if (this.#applying === undefined) return this.#startApplying();
    this.#gathered ??= this.#applying.then(async () => {
      await new Promise<void>((resolve) => this.#parts.clock.after(gatherMs, resolve));
      this.#gathered = undefined;
      await this.#startApplying();
    });
    return this.#gathered;
  }

  #startApplying(): Promise<void> {
    const applied = this.#parts.namesChanged();
    const ended = applied
      .catch(() => {})
      .then(() => {
        if (this.#applying === ended && this.#gathered === undefined) this.#applying = undefined;
      });
    this.#applying = ended;
    return applied;
  }

  /** From the cache, else from the resolvers, each question once at a time. */
  #resolve(content: ConfigurationContent, name: string, type: string, mayAsk = () => true): Promise<Reply> {
    const key = `${type} ${name}`;
    const cached = this.#cache.get(key, this.#parts.clock.elapsedMs());
    if (cached !== undefined) return Promise.resolve(cached);
    if (!this.#asking.has(key) && !mayAsk()) return Promise.resolve(emptyReply("SERVFAIL"));
    const asking = this.#asking.get(key) ?? this.#ask(content, name, type).finally(() => this.#asking.delete(key));
    this.#asking.set(key, asking);
    return asking;
  }

  async #ask(content: ConfigurationContent, name: string, type: string): Promise<Reply> {
    const answer = await this.#parts.askUpstream({ name, type }, resolversOf(content, name));
    if (answer === undefined) return emptyReply("SERVFAIL");
    const reply = replyOf(answer.rcode, this.#permitted(content, name, answersTo(name, type, answer)));
    this.#cache.set(`${type} ${name}`, reply, this.#parts.clock.elapsedMs() + reply.ttlMs, memoryOf(reply));
    return reply;
  }

  /** Returns the answers without blocked addresses, and without more addresses than the filters retain. */
  #permitted(content: ConfigurationContent, name: string, answers: readonly Answer[]): readonly Answer[] {
    const key = destinationOfName(content, name);
    const isDestination = key !== undefined;
    const permits = isDestination ? this.#parts.filter.forAnswers(content, key) : AnswerFilter.forInternet(content);
    let left = isDestination ? nameLimits.addressesOfAnswer : Number.POSITIVE_INFINITY;
    return answers.filter((one) => {
      if (!("data" in one) || !addressTypes.has(one.type)) return true;
      if (left === 0 || !permits(String(one.data))) return false;
      left -= 1;
      return true;
    });
  }

  async #refreshName(content: ConfigurationContent, name: string): Promise<boolean> {
    const { names, clock } = this.#parts;
    const replies = await Promise.all([...addressTypes].map((type) => this.#resolve(content, name, type)));
    const withAddresses = replies.filter(({ addresses }) => addresses.length > 0);
    const key = destinationOfName(content, name);
    if (withAddresses.length === 0 || key === undefined) {
      names.postpone(name, clock.elapsedMs() + retryMs);
      return false;
    }
    const ttlMs = Math.min(...withAddresses.map((reply) => reply.ttlMs));
    // Each type has its own limit.
    let isNew = false;
    for (const { addresses } of withAddresses) {
      const learned = names.learn({ name, key }, addresses, ttlMs, clock.elapsedMs(), undefined);
      if (learned === "full") names.postpone(name, clock.elapsedMs() + retryMs);
      isNew ||= learned === true;
    }
    return isNew;
  }

  #scheduleRefresh(): void {
    const { clock, log } = this.#parts;
    this.#cancelTimer?.();
    const reschedule = () => {
      this.#cancelTimer = clock.after((shortestTtlS * 1000) / 2, () => this.#scheduleRefresh());
    };
    // A port that was in use may be free now, and IPv6 may have been enabled or disabled.
    this.#bind()
      .then(() => this.refresh())
      .catch((err: unknown) => log("failed to refresh names; will retry", { err }))
      .finally(reschedule);
  }

  async #withinLimits(device: string, work: () => Promise<Reply>): Promise<Reply> {
    const ofDevice = this.#questionsOf.get(device) ?? 0;
    if (ofDevice >= (mostQuestions - this.#questions) * deviceShare) return emptyReply("SERVFAIL");
    this.#questions++;
    this.#questionsOf.set(device, ofDevice + 1);
    try {
      return await work();
    } catch (err) {
      // If the filters lack the addresses, the device must not get an answer that it cannot use.
      this.#parts.log("failed to answer a DNS question", { err });
      return emptyReply("SERVFAIL");
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

/** The memory of a cached reply in bytes, about. */
function memoryOf({ records, addresses }: Reply): number {
  return 500 + records.length + 100 * addresses.length;
}

function budgetOf(purpose: keyof typeof budgets): RateBudget {
  const { perSecond, most } = budgets[purpose];
  return new RateBudget(perSecond, most);
}
