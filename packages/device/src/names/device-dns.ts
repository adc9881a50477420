/**
 * Serves DNS on this machine. Questions about names of the configuration go to their gateway. The resolved addresses
 * are routed through the gateway before the answer is sent. All other questions are forwarded to the machine's
 * resolvers.
 */

import type { Clock } from "@gatehouse/agent-core/clock";
import { type DnsMessage, decodeQuestion, hasOtherOpcode } from "@gatehouse/agent-core/dns/dns-message";
import {
  addressesOf,
  addressTypes,
  answersTo,
  emptyReply,
  headerReplyBytes,
  isHostName,
  lowestTtlMs,
  otherTypes,
  type Reply,
  refusalBytes,
  replyBytes,
  replyOf,
} from "@gatehouse/agent-core/dns/dns-reply";
import { DnsSockets } from "@gatehouse/agent-core/dns/dns-sockets";
import { destinationOfName } from "@gatehouse/agent-core/dns/named-services";
import type { ResolvedNames } from "@gatehouse/agent-core/dns/resolved-names";
import type { AskUpstream } from "@gatehouse/agent-core/dns/upstream";
import type { Log } from "@gatehouse/agent-core/log";
import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import type { Answer } from "dns-packet";
import { gatewaysAndUnserved, unservedId } from "../tunnel/unserved-peer.ts";
import { gatewaysOfNames } from "../tunnel/wanted-tunnel.ts";

const mostQuestions = 512;
/** The interval of retries for a name that its gateway could not resolve. */
const retryMs = 15_000;
const concurrentRefreshes = 8;

/** Forwards an unchanged question to these resolvers. */
export type ForwardQuestion = (
  question: Buffer,
  over: "udp" | "tcp",
  resolvers: readonly string[],
) => Promise<Buffer | undefined>;

export interface DeviceDnsParts {
  /** Returns the configuration in use. */
  readonly configuration: () => DeviceConfiguration | undefined;
  /**
   * Returns the hosts that the tunnel depends on. They are never resolved through the tunnel, even if a wildcard
   * matches.
   */
  readonly bypassHosts: () => ReadonlySet<string>;
  /** Whether names must not resolve to the address, because it belongs to a router of the machine. */
  readonly isClosed: (address: string) => boolean;
  readonly names: ResolvedNames;
  /** Routes new addresses through their gateways. Resolves when the machine has the routes. */
  readonly namesChanged: () => Promise<void>;
  readonly askGateway: AskUpstream;
  readonly forward: ForwardQuestion;
  readonly machineResolvers: () => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly log: Log;
}

/** A gateway that resolves names. */
interface NameGateway {
  readonly gateway: string;
  readonly addresses: readonly string[];
}

export class DeviceDns {
  readonly #parts: DeviceDnsParts;
  readonly #sockets: DnsSockets;
  #questions = 0;

  constructor(parts: DeviceDnsParts) {
    this.#parts = parts;
    const { clock, log } = parts;
    this.#sockets = new DnsSockets({ answer: (question, _, over) => this.answer(question, over), clock, log });
  }

  /** @throws Error if the address or port cannot be used */
  listen(address: string, port: number): Promise<void> {
    return this.#sockets.listen(address, port);
  }

  stop(): void {
    this.#sockets.close();
  }

  /** @returns undefined without an answer */
  async answer(question: Buffer, over: "udp" | "tcp"): Promise<Buffer | undefined> {
    if (this.#questions >= mostQuestions) return undefined;
    const { forward, machineResolvers } = this.#parts;
    const query = decodeQuestion(question);
    if (query === undefined && !hasOtherOpcode(question)) return refusalBytes(question);
    const failure = () =>
      query === undefined
        ? headerReplyBytes(question, "SERVFAIL")
        : replyBytes({ query, reply: emptyReply("SERVFAIL") }, over);
    this.#questions += 1;
    try {
      // Updates and notifications have other sections, and are never for a gateway.
      const [asked] = query?.questions ?? [];
      const name = asked?.name.toLowerCase().replace(/\.$/, "") ?? "";
      const gateway = query?.opcode === "QUERY" ? this.#gatewayOf(name) : undefined;
      if (gateway !== undefined && query !== undefined && asked !== undefined) {
        return replyBytes({ query, reply: await this.#replyOf(gateway, name, asked.type) }, over);
      }
      return (await forward(question, over, await machineResolvers())) ?? failure();
    } catch (err) {
      // If the tunnel lacks the addresses, an answer would send packets past the tunnel.
      this.#parts.log("failed to answer a DNS question", { err });
      return failure();
    } finally {
      this.#questions -= 1;
    }
  }

  /**
   * Resolves a name of the configuration, like a question of a program.
   *
   * @returns undefined if no gateway resolves the name
   */
  async resolve(
    name: string,
  ): Promise<{ readonly rcode: Reply["rcode"]; readonly addresses: readonly string[] } | undefined> {
    const gateway = this.#gatewayOf(name);
    if (gateway === undefined) return undefined;
    const replies = await Promise.all([...addressTypes].map((type) => this.#replyOf(gateway, name, type)));
    const addresses = replies.flatMap((reply) => reply.addresses);
    return { rcode: replies[0]?.rcode ?? "SERVFAIL", addresses };
  }

  /** Resolves recently requested names again, so that connections outlive the TTL of an answer. */
  async refresh(): Promise<void> {
    const { configuration, names, clock, namesChanged } = this.#parts;
    const current = configuration();
    const content = destinationsOf(current);
    const isUnserved = (name: string) => content.destinations[destinationOfName(content, name) ?? ""] === unservedId;
    // The local network must not get packets for the last known addresses of an unserved name.
    let isChanged = names.forget(clock.elapsedMs(), current?.unserved === undefined ? undefined : isUnserved);
    const stale = [...names.staleOfAsked(content, clock.elapsedMs())];
    const work = async () => {
      for (let name = stale.pop(); name !== undefined; name = stale.pop()) {
        isChanged = (await this.#refreshName(name)) || isChanged;
      }
    };
    await Promise.all(Array.from({ length: concurrentRefreshes }, work));
    if (isChanged) await namesChanged();
  }

  #gatewayOf(name: string): NameGateway | undefined {
    const current = this.#parts.configuration();
    if (current === undefined || !isHostName(name) || this.#parts.bypassHosts().has(name)) return undefined;
    const { destinations } = destinationsOf(current);
    const key = destinationOfName({ destinations }, name);
    return gatewaysAndUnserved(current).find(({ gateway }) => key !== undefined && gateway === destinations[key]);
  }

  async #replyOf(gateway: NameGateway, name: string, type: string): Promise<Reply> {
    const isAddress = addressTypes.has(type);
    // Other types, such as HTTPS, can contain addresses that the tunnel would not know.
    if (!isAddress && !otherTypes.has(type)) return emptyReply("NOERROR");
    // After SERVFAIL, programs would ask the resolver of the local network.
    if (gateway.gateway === unservedId) return emptyReply("NOERROR");
    const answer = await this.#parts.askGateway({ name, type }, gateway.addresses);
    if (answer === undefined) return emptyReply("SERVFAIL");
    const reply = replyOf(answer.rcode, this.#answersTo(name, type, answer));
    if (!isAddress || reply.rcode === "SERVFAIL") return reply;
    const { names, clock, namesChanged } = this.#parts;
    if (names.learn(name, reply.addresses, reply.ttlMs, clock.elapsedMs(), true)) await namesChanged();
    return reply;
  }

  /** Returns the answers without router addresses. Packets for those would bypass the tunnel. */
  #answersTo(name: string, type: string, answer: DnsMessage): readonly Answer[] {
    const { isClosed, log } = this.#parts;
    return answersTo(name, type, answer).filter((one) => {
      if (!("data" in one) || !addressTypes.has(one.type) || !isClosed(String(one.data))) return true;
      log("removed the address of a local router from a DNS answer", { name, address: one.data });
      return false;
    });
  }

  async #refreshName(name: string): Promise<boolean> {
    const { names, clock, askGateway } = this.#parts;
    const gateway = this.#gatewayOf(name);
    const replies = await Promise.all(
      [...addressTypes].map(async (type) => {
        const isSilent = gateway === undefined || gateway.gateway === unservedId;
        const answer = isSilent ? undefined : await askGateway({ name, type }, gateway.addresses);
        return answer === undefined ? [] : this.#answersTo(name, type, answer);
      }),
    );
    const answers = replies.flat();
    if (addressesOf(answers).length === 0) {
      names.postpone(name, clock.elapsedMs() + retryMs);
      return false;
    }
    return names.learn(name, addressesOf(answers), lowestTtlMs(answers), clock.elapsedMs(), false);
  }
}

function destinationsOf(configuration: DeviceConfiguration | undefined): {
  readonly destinations: Readonly<Record<string, string>>;
} {
  return { destinations: configuration === undefined ? {} : gatewaysOfNames(configuration) };
}
