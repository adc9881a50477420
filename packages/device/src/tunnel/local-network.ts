/**
 * The network that the machine is in. Names must never move the machine's resolvers and routers into the tunnel. A
 * gateway, or the author of a DNS record, could otherwise answer all names of the device.
 */
import { canonicalAddress } from "@gatehouse/addresses/ip-block";
import type { Log } from "@gatehouse/agent-core/log";
import type { ProgramRunner } from "@gatehouse/agent-core/system/program-runner";

export interface LocalNetwork {
  /** Addresses of the machine's resolvers. */
  readonly resolvers: ReadonlySet<string>;
  /** Addresses of the routers in the machine's default routes. */
  readonly routers: ReadonlySet<string>;
}

export const unknownNetwork: LocalNetwork = { resolvers: new Set(), routers: new Set() };

/** @throws Error if the network could not be determined */
export type ReadLocalNetwork = () => Promise<LocalNetwork>;

interface NextHop {
  readonly gateway?: string;
  /** A router of the other family. */
  readonly via?: { readonly host?: string };
}

/** A route in the output of `ip -json route`. */
type Route = NextHop & { readonly nexthops?: readonly NextHop[] };

/** @param resolvers returns the addresses of the machine's resolvers */
export function localNetworkReader(
  programs: Pick<ProgramRunner, "read">,
  resolvers: () => Promise<readonly string[]>,
): ReadLocalNetwork {
  const routersOf = async (family: "-4" | "-6") => {
    const output = await programs.read("ip", ["-json", family, "route", "show", "default"]);
    const routes = output.trim() === "" ? [] : (JSON.parse(output) as Route[]); // the JSON output of ip
    const hops = routes.flatMap((route) => [route, ...(route.nexthops ?? [])]);
    return hops.flatMap(({ gateway, via }) => [gateway, via?.host].filter((each) => each !== undefined));
  };
  return async () => {
    const [found, ipv4, ipv6] = await Promise.all([resolvers(), routersOf("-4"), routersOf("-6")]);
    return { resolvers: addressSet(found), routers: addressSet([...ipv4, ...ipv6]) };
  };
}

/** The last known local network. */
export class KnownNetwork {
  readonly #read: ReadLocalNetwork;
  readonly #log: Log;
  #current = unknownNetwork;
  /** The network that the machine has been adapted to; undefined: none, or a change is in progress. */
  #followed: LocalNetwork | undefined;

  constructor(read: ReadLocalNetwork, log: Log) {
    this.#read = read;
    this.#log = log;
  }

  get current(): LocalNetwork {
    return this.#current;
  }

  /**
   * Reads the network again. If it cannot be read, the previous one stays known.
   *
   * @param follow adapts the machine to a new network
   * @returns whether the network is a new one
   * @throws what `follow` throws. The next call calls it again
   */
  async update(follow: () => Promise<void>): Promise<boolean> {
    try {
      this.#current = await this.#read();
    } catch (err) {
      this.#log("failed to read the machine's resolvers and routers; will retry", { err });
    }
    const found = this.#current;
    if (this.#followed !== undefined && formatNetwork(this.#followed) === formatNetwork(found)) return false;
    this.#followed = undefined;
    await follow();
    this.#followed = found;
    return true;
  }

  /** Must be called after the machine was adapted to a network outside `update`. */
  followed(network: LocalNetwork): void {
    this.#followed = network;
  }

  /** Whether the machine has been adapted to a network with these resolvers. */
  hasResolvers(addresses: readonly string[]): boolean {
    return [...addressSet(addresses)].every((address) => this.#followed?.resolvers.has(address) === true);
  }
}

/** An address with a zone is link-local, and has no canonical form. Names never open it. */
function addressSet(addresses: readonly string[]): ReadonlySet<string> {
  return new Set(addresses.map((address) => canonicalAddress(address) ?? address));
}

function formatNetwork({ resolvers, routers }: LocalNetwork): string {
  return [resolvers, routers].map((addresses) => [...addresses].sort().join(" ")).join("; ");
}
