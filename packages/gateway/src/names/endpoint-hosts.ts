/**
 * Where the hosts of endpoints are: other gateways, as peers of this one or as those that it relays for. Looked up beside everything
 * else, as the machine itself would, so that no change of rules ever waits for a resolver.
 */
import { lookup } from "node:dns/promises";
import { type Family, familyOf } from "@gatehouse/addresses/ip-block";
import type { Clock } from "@gatehouse/agent-core/clock";
import type { Log } from "@gatehouse/agent-core/log";
import type { ConfigurationContent } from "@gatehouse/agent-protocol/gateway/configuration";

/** How often names are looked up again, in milliseconds: the machine's resolver does not say how long its answer lasts. */
const freshMs = 60_000;
/** After one could not be looked up, in milliseconds. */
const retryMs = 5_000;

/** Node looks up names in the four threads in which it also writes files, and a resolver that does not answer holds them for long. */
const lookUpsAtOnce = 2;

/** One address of each family that the host has. */
export type HostAddresses = Readonly<Partial<Record<Family, string>>>;

export type LookUp = (host: string) => Promise<HostAddresses>;

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** @param text `host:port`, IPv6 in brackets, as the contract has it */
export function parseEndpoint(text: string): Endpoint {
  const [, host = "", port = ""] = /^\[?(.+?)\]?:([0-9]+)$/.exec(text) ?? [];
  return { host, port: Number(port) };
}

export class EndpointHosts {
  readonly #lookUp: LookUp;
  /** By name. One that cannot be looked up for a while keeps its addresses. */
  readonly #known = new Map<string, HostAddresses>();

  constructor(lookUp: LookUp = systemLookUp) {
    this.#lookUp = lookUp;
  }

  /** None for a name that was never found. */
  addressesOf(host: string): HostAddresses {
    const family = familyOf(host);
    return family === undefined ? (this.#known.get(host) ?? {}) : { [family]: host };
  }

  /**
   * Looks up the names of a configuration's endpoints, and forgets all others.
   *
   * @returns whether one is somewhere else now, and whether all were found
   */
  async refresh(content: ConfigurationContent): Promise<{ readonly isChanged: boolean; readonly isComplete: boolean }> {
    const wanted = namesIn(content);
    for (const host of this.#known.keys()) if (!wanted.has(host)) this.#known.delete(host);
    let isChanged = false;
    let isComplete = true;
    const find = async (host: string) => {
      const found = await this.#lookUp(host).catch(() => ({}) as HostAddresses);
      if (found[4] === undefined && found[6] === undefined) {
        isComplete = false;
        return;
      }
      const before = this.#known.get(host);
      if (before?.[4] === found[4] && before?.[6] === found[6]) return;
      this.#known.set(host, found);
      isChanged = true;
    };
    const left = [...wanted];
    const work = async () => {
      for (let host = left.pop(); host !== undefined; host = left.pop()) await find(host);
    };
    await Promise.all(Array.from({ length: lookUpsAtOnce }, work));
    return { isChanged, isComplete };
  }
}

function namesIn({ settings, peers }: ConfigurationContent): ReadonlySet<string> {
  const endpoints = [
    ...(settings.relay ?? []).map(({ endpoint }) => endpoint),
    ...Object.values(peers).flatMap((peer) =>
      peer.kind === "site" && peer.endpoint !== undefined ? [peer.endpoint] : [],
    ),
  ];
  const hosts = endpoints.map((endpoint) => parseEndpoint(endpoint).host);
  return new Set(hosts.filter((host) => familyOf(host) === undefined));
}

/** The lowest address of each family: a host with several must not seem to move with each answer. */
async function systemLookUp(host: string): Promise<HostAddresses> {
  const found: Partial<Record<Family, string>> = {};
  for (const { address } of await lookup(host, { all: true })) {
    const family = familyOf(address);
    if (family === undefined) continue;
    const other = found[family];
    if (other === undefined || address < other) found[family] = address;
  }
  return found;
}

interface FollowerParts {
  readonly hosts: EndpointHosts;
  /** Brings peers and filters up to date. */
  readonly moved: () => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Keeps the hosts of the enforced configuration fresh. */
export class EndpointFollower {
  readonly #parts: FollowerParts;
  #content: ConfigurationContent | undefined;
  #names = "";
  /** Something moved, and the kernel does not have it yet. */
  #isBehind = false;
  #cancelTimer: (() => void) | undefined;

  constructor(parts: FollowerParts) {
    this.#parts = parts;
  }

  /** Looks up names that are new at once, without anybody waiting for it. The same ones as before go on being looked up in their turn. */
  follow(content: ConfigurationContent | undefined): void {
    this.#content = content;
    const names = content === undefined ? "" : [...namesIn(content)].sort().join(" ");
    if (names === this.#names) return;
    this.#names = names;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (names !== "") void this.#refresh();
  }

  stop(): void {
    this.follow(undefined);
  }

  async #refresh(): Promise<void> {
    const { hosts, moved, clock, log } = this.#parts;
    const names = this.#names;
    if (this.#content === undefined) return;
    const { isChanged, isComplete } = await hosts.refresh(this.#content);
    this.#isBehind ||= isChanged;
    if (this.#names !== names) return;
    if (this.#isBehind) {
      this.#isBehind = false;
      await moved().catch((error: unknown) => {
        this.#isBehind = true;
        log(`Endpoints moved, and could not be followed; tried again: ${String(error)}`);
      });
    }
    if (this.#names !== names) return;
    this.#cancelTimer = clock.after(isComplete && !this.#isBehind ? freshMs : retryMs, () => void this.#refresh());
  }
}
