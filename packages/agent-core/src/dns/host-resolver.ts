import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import type { Clock } from "../clock.ts";

/** How long an answer is used. The system's resolver does not report a TTL. */
const freshMs = 60_000;
/** How long `resolve` waits for an answer. After that, it returns the previous one. */
const longestWaitMs = 3_000;

/** @throws Error if the host cannot be resolved */
export type LookUp = (host: string) => Promise<readonly string[]>;

const systemLookUp: LookUp = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);

export interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

/** Parses `host:port`, IPv6 in brackets, as configurations contain it. */
export function hostAndPort(endpoint: string): HostAndPort {
  const [, host = "", port = "0"] = /^\[?(.+?)\]?:([0-9]+)$/.exec(endpoint) ?? [];
  return { host, port: Number(port) };
}

/**
 * Resolves host names with the system's resolver. While that fails, the previous addresses stay in use. Addresses keep
 * their order across answers, so that a host with several addresses does not seem to move.
 */
export class HostResolver {
  readonly #clock: Clock;
  readonly #lookUp: LookUp;
  readonly #cache = new Map<string, { addresses: readonly string[]; requestedAt: number }>();

  constructor(clock: Clock, lookUp: LookUp = systemLookUp) {
    this.#clock = clock;
    this.#lookUp = lookUp;
  }

  /** Returns the addresses that are known now, without a query. An IP address is its own address. */
  cached(host: string): readonly string[] {
    return isIP(host) === 0 ? (this.#cache.get(host)?.addresses ?? []) : [host];
  }

  /** Returns a host's addresses, queried if the cached ones are old; none if the host is unknown. */
  async resolve(host: string): Promise<readonly string[]> {
    if (isIP(host) !== 0) return [host];
    const requestedAt = this.#cache.get(host)?.requestedAt;
    // The age is negative after the clock was set back.
    const age = requestedAt === undefined ? Number.POSITIVE_INFINITY : this.#clock.now() - requestedAt;
    if (age < 0 || age >= freshMs) await this.#refreshInTime(host);
    return this.cached(host);
  }

  /** Queries a host's addresses. Returns whether there was an answer. */
  async refresh(host: string): Promise<boolean> {
    const entry = this.#cache.get(host) ?? { addresses: [], requestedAt: 0 };
    entry.requestedAt = this.#clock.now();
    this.#cache.set(host, entry);
    const found = await this.#lookUp(host).catch((): readonly string[] => []);
    if (found.length === 0) return false;
    const previous = entry.addresses.filter((address) => found.includes(address));
    entry.addresses = [...previous, ...found.filter((address) => !previous.includes(address))];
    return true;
  }

  /** Makes `resolve` query each host again. Until there is an answer, the previous addresses stay in use. */
  expire(): void {
    for (const entry of this.#cache.values()) entry.requestedAt = Number.NEGATIVE_INFINITY;
  }

  /** Forgets all other hosts. */
  retain(hosts: ReadonlySet<string>): void {
    for (const host of this.#cache.keys()) if (!hosts.has(host)) this.#cache.delete(host);
  }

  #refreshInTime(host: string): Promise<void> {
    return new Promise<void>((resolve) => {
      const cancel = this.#clock.after(longestWaitMs, resolve);
      void this.refresh(host).finally(() => {
        cancel();
        resolve();
      });
    });
  }
}
