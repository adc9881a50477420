/** Resolves the names of hosts that tenants choose. */
import type { LookupAddress } from "node:dns";
import { Resolver } from "node:dns/promises";

/** Resolves a host name to all of its addresses. Ends when the signal is aborted. */
export type ResolveHost = (hostname: string, signal: AbortSignal) => Promise<readonly LookupAddress[]>;

/** The time limit of a DNS query, in milliseconds. A retry has twice that limit. */
const queryMs = 2_000;
const tries = 2;
/** Errors after which another server may know the name. c-ares asks the next server only after a time limit. */
const errorsOfServer = new Set(["EREFUSED", "ESERVFAIL", "ENOTIMP"]);
/** Further addresses of an answer are ignored. */
const maxAddresses = 32;
const localhost = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

/**
 * Asks DNS without the thread pool, in which names whose servers never answer would stop the lookups of all tenants.
 * Uses neither /etc/hosts nor search domains, because tenants' names are those of the internet.
 *
 * @param servers addresses with ports; the system's servers if absent
 */
export function hostResolver(servers?: readonly string[]): ResolveHost {
  return async (hostname, signal) => {
    if (/^(.*\.)?localhost\.?$/.test(hostname)) return localhost; // RFC 6761, section 6.3
    const all = servers ?? new Resolver().getServers();
    for (let first = 0; ; first += 1) {
      try {
        return await ask(all.slice(first), hostname, signal);
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (first + 1 >= all.length || code === undefined || !errorsOfServer.has(code)) throw error;
      }
    }
  };
}

async function ask(
  servers: readonly string[],
  hostname: string,
  signal: AbortSignal,
): Promise<readonly LookupAddress[]> {
  signal.throwIfAborted();
  const resolver = new Resolver({ timeout: queryMs, tries });
  resolver.setServers([...servers]);
  const cancel = () => resolver.cancel();
  signal.addEventListener("abort", cancel);
  try {
    const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    if (ipv4.status === "rejected" && ipv6.status === "rejected") throw ipv4.reason;
    return [addressesOf(ipv4, 4), addressesOf(ipv6, 6)].flat().slice(0, maxAddresses);
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

function addressesOf(answer: PromiseSettledResult<readonly string[]>, family: 4 | 6): readonly LookupAddress[] {
  return answer.status === "rejected" ? [] : answer.value.map((address) => ({ address, family }));
}
