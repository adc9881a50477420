/**
 * Resolves the hosts of endpoints: other gateways, as site peers or as relay targets. No rule change waits for a
 * resolver.
 */
import { type Family, familyOf } from "@gatehouse/addresses/ip-block";
import type { Clock } from "@gatehouse/agent-core/clock";
import { type HostResolver, hostAndPort } from "@gatehouse/agent-core/dns/host-resolver";
import type { Log } from "@gatehouse/agent-core/log";
import type { ConfigurationContent } from "@gatehouse/agent-protocol/gateway/configuration";

const refreshMs = 60_000;
/** The interval after a failed query, or after the kernel refused a change. */
const retryMs = 5_000;

/** Node resolves names in the four threads in which it also writes files. An unresponsive resolver blocks a thread. */
const concurrentQueries = 2;

/** One address for each family that the host has. */
export type HostAddresses = Readonly<Partial<Record<Family, string>>>;

export class EndpointHosts {
  readonly #resolver: HostResolver;

  constructor(resolver: HostResolver) {
    this.#resolver = resolver;
  }

  /** Returns none for a name that was never resolved. */
  addressesOf(host: string): HostAddresses {
    const addresses: Partial<Record<Family, string>> = {};
    for (const address of this.#resolver.cached(host)) {
      const family = familyOf(address);
      if (family !== undefined) addresses[family] ??= address;
    }
    return addresses;
  }

  /**
   * Resolves the endpoint names of a configuration, and forgets all others.
   *
   * @returns whether an address changed, and whether all names were resolved
   */
  async refresh(content: ConfigurationContent): Promise<{ readonly isChanged: boolean; readonly isComplete: boolean }> {
    const names = namesIn(content);
    this.#resolver.retain(names);
    let isChanged = false;
    let isComplete = true;
    const remaining = [...names];
    const work = async () => {
      for (let host = remaining.pop(); host !== undefined; host = remaining.pop()) {
        const previous = this.addressesOf(host);
        isComplete = (await this.#resolver.refresh(host)) && isComplete;
        const current = this.addressesOf(host);
        isChanged ||= previous[4] !== current[4] || previous[6] !== current[6];
      }
    };
    await Promise.all(Array.from({ length: concurrentQueries }, work));
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
  const hosts = endpoints.map((endpoint) => hostAndPort(endpoint).host);
  return new Set(hosts.filter((host) => familyOf(host) === undefined));
}

interface FollowerParts {
  readonly hosts: EndpointHosts;
  /** Applies the new addresses to peers and filters. */
  readonly moved: () => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Keeps the endpoint hosts of the enforced configuration resolved. */
export class EndpointFollower {
  readonly #parts: FollowerParts;
  #content: ConfigurationContent | undefined;
  #names = "";
  /** An address changed, and the kernel does not have it yet. */
  #isBehind = false;
  #cancelTimer: (() => void) | undefined;

  constructor(parts: FollowerParts) {
    this.#parts = parts;
  }

  /** Resolves new names in the background. Names that are already followed keep their schedule. */
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
      await moved().catch((err: unknown) => {
        this.#isBehind = true;
        log("failed to apply new endpoint addresses; will retry", { err });
      });
    }
    if (this.#names !== names) return;
    this.#cancelTimer = clock.after(isComplete && !this.#isBehind ? refreshMs : retryMs, () => void this.#refresh());
  }
}
