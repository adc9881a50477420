/** What a configuration is made real with: WireGuard, addresses and routes, and one table of nftables. */

import { readFile, writeFile } from "node:fs/promises";
import { ProgramFailure, type ProgramRunner } from "@gatehouse/agent-core/system/program-runner";
import {
  allowedIpsOf,
  tunnelBlocks,
  type WantedPeer,
  type WireGuardInterface,
} from "@gatehouse/agent-core/wireguard/wireguard-interface";
import type { ConfigurationContent } from "@gatehouse/agent-protocol/gateway/configuration";
import { type EndpointHosts, parseEndpoint } from "../names/endpoint-hosts.ts";
import { isBaseChain, type NftState, tableChange, wholeTable } from "./nft-state.ts";
import { movedRelayPorts } from "./relay-rules.ts";

/** Switches of the kernel without which nothing is carried from one interface to another. */
const forwardingSwitches = ["/proc/sys/net/ipv4/conf/all/forwarding", "/proc/sys/net/ipv6/conf/all/forwarding"];

export class Kernel {
  readonly #wireGuard: WireGuardInterface;
  readonly #programs: ProgramRunner;
  readonly #hosts: EndpointHosts;
  readonly #table: string;
  /** What the table holds; undefined: not known, so it is replaced as a whole. */
  #filters: NftState | undefined;
  #forgetting: Promise<void> = Promise.resolve();

  constructor(wireGuard: WireGuardInterface, programs: ProgramRunner, hosts: EndpointHosts) {
    this.#wireGuard = wireGuard;
    this.#programs = programs;
    this.#hosts = hosts;
    this.#table = `gatehouse-${wireGuard.name}`;
  }

  /**
   * Enforces filters in one transaction.
   *
   * @throws ProgramFailure when the kernel refuses; then the filters before are still there
   */
  async filter(state: NftState): Promise<void> {
    if (state === this.#filters) return;
    await this.#asWholeWhereRefused(async () => {
      const script = this.#script(state);
      if (script !== "") await this.#programs.change("nft", ["-f", "-"], script);
    });
    const before = this.#filters;
    this.#filters = state;
    const moved = movedRelayPorts(before?.sets, state.sets);
    if (moved.length > 0) this.#forgetting = this.#forgetting.then(() => this.#forgetRelayed(moved));
  }

  /**
   * The kernel decides with the first packet where a connection goes. Devices that were sent elsewhere until now, or sent before there
   * was a relay, would go on so for as long as they try. No filter depends on this, so nothing waits for it: what may not pass is dropped.
   */
  async #forgetRelayed(ports: ReturnType<typeof movedRelayPorts>): Promise<void> {
    for (const { family, port } of ports) {
      const args = ["-D", "-f", family === 4 ? "ipv4" : "ipv6", "-p", "udp", "--orig-port-dst", port];
      // It fails where there is nothing to forget, and where the program is missing.
      await this.#programs.change("conntrack", args).catch(() => {});
    }
  }

  /** @throws ProgramFailure when the kernel would refuse these filters */
  async checkFilters(state: NftState): Promise<void> {
    await this.#asWholeWhereRefused(async () => {
      const script = this.#script(state);
      if (script !== "") await this.#programs.read("nft", ["-c", "-f", "-"], script);
    });
  }

  /**
   * Whether the table is there with its base chains. Any program with the rights for it can take it away, and `nft flush ruleset`, with which
   * most files of nftables begin, does: without it, everything passes. Where it is not there, the next `filter` makes the whole anew.
   */
  async hasFilters(): Promise<boolean> {
    if (this.#filters === undefined) return true;
    // Without the elements of sets, of which there may be tens of thousands.
    const list = ["--terse", "list", "table", "inet", this.#table];
    const listed = await this.#programs.read("nft", list).catch((error: unknown) => {
      // Whether it could not be looked at or is not there: what makes it anew tells.
      if (error instanceof ProgramFailure) return "";
      throw error;
    });
    const counts = linesOfChains(listed);
    for (const [chain, lines] of this.#filters.chains) {
      if (!isBaseChain(lines) || (counts.get(chain) ?? 0) >= lines.length) continue;
      this.#filters = undefined;
      return false;
    }
    return true;
  }

  /** Makes the tunnel as wanted where others changed it, and touches nothing that is so already. @returns whether it was gone */
  async mendTunnel(content: ConfigurationContent): Promise<boolean> {
    if (!(await this.#wireGuard.isThere())) {
      await this.tunnel(content);
      return true;
    }
    await this.#setPeersAndRoutes(content);
    return false;
  }

  /** Interface, peers, addresses, routes. @throws ProgramFailure, with some of it done: then tunnel the one before again */
  async tunnel(content: ConfigurationContent): Promise<void> {
    const own = content.settings.interface;
    await this.#wireGuard.ensure();
    await this.#wireGuard.setPort(own.listenPort);
    await this.#setPeersAndRoutes(content);
  }

  /** @throws Error where the machine does not forward, and does not let the agent change that */
  async forward(): Promise<void> {
    for (const path of forwardingSwitches) {
      if ((await readFile(path, "utf8")).trim() !== "0") continue;
      await writeFile(path, "1").catch((error: unknown) => {
        throw new Error(`The kernel does not forward packets, and ${path} cannot be switched on: ${String(error)}`);
      });
    }
  }

  async #setPeersAndRoutes(content: ConfigurationContent): Promise<void> {
    const own = content.settings.interface;
    await this.#wireGuard.setPeers(wantedPeers(content, this.#hosts));
    await this.#wireGuard.setAddresses([`${own.ipv4}/32`, `${own.ipv6}/128`]);
    await this.#wireGuard.setRoutes(tunnelBlocks(content));
  }

  /** A change that the kernel refuses may be one of a table that others changed or took away: then it is replaced as a whole. */
  async #asWholeWhereRefused(tell: () => Promise<void>): Promise<void> {
    try {
      await tell();
    } catch (error) {
      if (!(error instanceof ProgramFailure) || this.#filters === undefined) throw error;
      this.#filters = undefined;
      await tell();
    }
  }

  #script(state: NftState): string {
    return this.#filters === undefined
      ? wholeTable(this.#table, state)
      : tableChange(this.#table, this.#filters, state);
  }
}

function wantedPeers({ peers }: ConfigurationContent, hosts: EndpointHosts): ReadonlyMap<string, WantedPeer> {
  const wanted = new Map<string, WantedPeer>();
  for (const [ipv4, peer] of Object.entries(peers)) {
    const endpoint = peer.kind === "site" && peer.endpoint !== undefined ? addressOf(peer.endpoint, hosts) : undefined;
    wanted.set(peer.publicKey, { endpoint, allowedIps: allowedIpsOf(ipv4, peer) });
  }
  return wanted;
}

/** @returns the endpoint with its host resolved; undefined where that is not known now, for the other side may find this one */
function addressOf(endpoint: string, hosts: EndpointHosts): string | undefined {
  const { host, port } = parseEndpoint(endpoint);
  const { 4: ipv4, 6: ipv6 } = hosts.addressesOf(host);
  if (ipv4 !== undefined) return `${ipv4}:${port}`;
  return ipv6 === undefined ? undefined : `[${ipv6}]:${port}`;
}

/** How many lines each chain of a listed table has: its type's, and one for each rule, or more where nft breaks a long one. */
function linesOfChains(listed: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  let chain: string | undefined;
  for (const line of listed.split("\n")) {
    if (line.startsWith("\t\t")) {
      if (chain !== undefined) counts.set(chain, (counts.get(chain) ?? 0) + 1);
    } else chain = /^\tchain (\S+) \{/.exec(line)?.[1];
  }
  return counts;
}
