/**
 * Answers DNS on this machine: names of the configuration are asked of their gateway, and what it answers goes through it before the answer
 * leaves; all others are passed on to the machine's own resolvers, as they are.
 */

import type { Clock } from "@gatehouse/agent-core/clock";
import { decodeMessage } from "@gatehouse/agent-core/dns/dns-message";
import {
  addressesOf,
  addressTypes,
  answersTo,
  isHostName,
  lowestTtlMs,
  otherTypes,
  type Reply,
  replyBytes,
} from "@gatehouse/agent-core/dns/dns-reply";
import { DnsSockets } from "@gatehouse/agent-core/dns/dns-sockets";
import { destinationOfName } from "@gatehouse/agent-core/dns/named-services";
import type { ResolvedNames } from "@gatehouse/agent-core/dns/resolved-names";
import type { AskUpstream } from "@gatehouse/agent-core/dns/upstream";
import type { Log } from "@gatehouse/agent-core/log";
import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import { gatewaysOfNames } from "../tunnel/wanted-tunnel.ts";

const mostQuestionsAtOnce = 512;
/** A name that no gateway answers for is tried again after this time, in milliseconds. */
const retryMs = 15_000;
const refreshesAtOnce = 8;

/** Passes a question on to these resolvers as it is. */
export type PassOn = (
  question: Buffer,
  over: "udp" | "tcp",
  resolvers: readonly string[],
) => Promise<Buffer | undefined>;

export interface DeviceDnsParts {
  /** What is in use now. */
  readonly configuration: () => DeviceConfiguration | undefined;
  /** Hosts that are never in the tunnel, whatever a wildcard says: how to reach it must not depend on it. */
  readonly outsideHosts: () => ReadonlySet<string>;
  readonly names: ResolvedNames;
  /** Sends new addresses through their gateways; back when that is so. */
  readonly namesChanged: () => Promise<void>;
  readonly askGateway: AskUpstream;
  readonly passOn: PassOn;
  readonly machineResolvers: () => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly log: Log;
}

/** For whom to ask, and under which of a configuration's names. */
interface Asked {
  readonly addresses: readonly string[];
}

export class DeviceDns {
  readonly #parts: DeviceDnsParts;
  readonly #sockets: DnsSockets;
  #questions = 0;

  constructor(parts: DeviceDnsParts) {
    this.#parts = parts;
    this.#sockets = new DnsSockets((question, _, over) => this.answer(question, over), parts.log);
  }

  /** @throws Error where the address or the port cannot be taken */
  listen(address: string, port: number): Promise<void> {
    return this.#sockets.listen(address, port);
  }

  stop(): void {
    this.#sockets.close();
  }

  /** @returns undefined where there is no answer to give */
  async answer(question: Buffer, over: "udp" | "tcp"): Promise<Buffer | undefined> {
    const query = decodeMessage(question);
    if (query === undefined || query.type !== "query") return undefined;
    if (this.#questions >= mostQuestionsAtOnce) return undefined;
    this.#questions += 1;
    try {
      const [asked] = query.questions ?? [];
      const name = asked?.name.toLowerCase().replace(/\.$/, "") ?? "";
      const gateway = query.opcode === "QUERY" && query.questions?.length === 1 ? this.#gatewayOf(name) : undefined;
      if (gateway !== undefined && asked !== undefined) {
        return replyBytes({ query, reply: await this.#replyOf(gateway, name, asked.type) }, over);
      }
      const { passOn, machineResolvers } = this.#parts;
      const answer = await passOn(question, over, await machineResolvers());
      return answer ?? replyBytes({ query, reply: { rcode: "SERVFAIL", answers: [] } }, over);
    } catch (error) {
      // Also where the tunnel did not take the addresses: nobody must be told of what would go another way.
      this.#parts.log(`A question could not be answered: ${String(error)}`);
      return replyBytes({ query, reply: { rcode: "SERVFAIL", answers: [] } }, over);
    } finally {
      this.#questions -= 1;
    }
  }

  /** Asks again for names that were asked for not long ago, so that connections outlive what an answer lives. */
  async refresh(): Promise<void> {
    const { configuration, names, clock, namesChanged } = this.#parts;
    const current = configuration();
    let isChanged = names.forget(clock.now());
    const stale = current === undefined ? [] : [...names.staleOfAsked(destinationsOf(current), clock.now())];
    const work = async () => {
      for (let name = stale.pop(); name !== undefined; name = stale.pop()) {
        isChanged = (await this.#refreshName(name)) || isChanged;
      }
    };
    await Promise.all(Array.from({ length: refreshesAtOnce }, work));
    if (isChanged) await namesChanged();
  }

  #gatewayOf(name: string): Asked | undefined {
    const current = this.#parts.configuration();
    if (current === undefined || !isHostName(name) || this.#parts.outsideHosts().has(name)) return undefined;
    const { destinations } = destinationsOf(current);
    const key = destinationOfName({ destinations }, name);
    return current.gateways.find(({ gateway }) => key !== undefined && gateway === destinations[key]);
  }

  async #replyOf(gateway: Asked, name: string, type: string): Promise<Reply> {
    const isAddress = addressTypes.has(type);
    // Types such as HTTPS can hold addresses that the tunnel would not know of.
    if (!isAddress && !otherTypes.has(type)) return { rcode: "NOERROR", answers: [] };
    const answer = await this.#parts.askGateway({ name, type }, gateway.addresses);
    if (answer === undefined) return { rcode: "SERVFAIL", answers: [] };
    const answers = answersTo(name, type, answer);
    const { names, clock, namesChanged } = this.#parts;
    if (isAddress && names.learn(name, addressesOf(answers), lowestTtlMs(answers), clock.now(), true)) {
      await namesChanged();
    }
    return { rcode: answer.rcode === "NXDOMAIN" && answers.length === 0 ? "NXDOMAIN" : "NOERROR", answers };
  }

  async #refreshName(name: string): Promise<boolean> {
    const { names, clock, askGateway } = this.#parts;
    const gateway = this.#gatewayOf(name);
    const replies = await Promise.all(
      [...addressTypes].map(async (type) => {
        const answer = gateway === undefined ? undefined : await askGateway({ name, type }, gateway.addresses);
        return answer === undefined ? [] : answersTo(name, type, answer);
      }),
    );
    const answers = replies.flat();
    if (addressesOf(answers).length === 0) {
      names.postpone(name, clock.now() + retryMs);
      return false;
    }
    return names.learn(name, addressesOf(answers), lowestTtlMs(answers), clock.now(), false);
  }
}

function destinationsOf(configuration: DeviceConfiguration): {
  readonly destinations: Readonly<Record<string, string>>;
} {
  return { destinations: gatewaysOfNames(configuration) };
}
