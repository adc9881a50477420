/** What a configuration is made real with: WireGuard, addresses and routes, and one table of nftables. */

import { readFile, writeFile } from "node:fs/promises";
import type { ConfigurationContent } from "@gatehouse/contract/gateway-link/configuration";
import type { ProgramRunner } from "../programs/program-runner.ts";
import { endpointAddress } from "../wireguard/endpoint-address.ts";
import {
  allowedIpsOf,
  tunnelBlocks,
  type WantedPeer,
  type WireGuardInterface,
} from "../wireguard/wireguard-interface.ts";
import { type NftState, tableChange, wholeTable } from "./nft-state.ts";

/** Switches of the kernel without which nothing is carried from one interface to another. */
const forwardingSwitches = ["/proc/sys/net/ipv4/conf/all/forwarding", "/proc/sys/net/ipv6/conf/all/forwarding"];

export class Kernel {
  readonly #wireGuard: WireGuardInterface;
  readonly #programs: ProgramRunner;
  readonly #table: string;
  /** What the table holds; undefined: not known, so it is replaced as a whole. */
  #filters: NftState | undefined;

  constructor(wireGuard: WireGuardInterface, programs: ProgramRunner) {
    this.#wireGuard = wireGuard;
    this.#programs = programs;
    this.#table = `gatehouse-${wireGuard.name}`;
  }

  /**
   * Enforces filters in one transaction.
   *
   * @throws ProgramFailure when the kernel refuses; then the filters before are still there
   */
  async filter(state: NftState): Promise<void> {
    if (state === this.#filters) return;
    const script = this.#script(state);
    if (script !== "") await this.#programs.change("nft", ["-f", "-"], script);
    this.#filters = state;
  }

  /** @throws ProgramFailure when the kernel would refuse these filters */
  async checkFilters(state: NftState): Promise<void> {
    const script = this.#script(state);
    if (script !== "") await this.#programs.read("nft", ["-c", "-f", "-"], script);
  }

  /** Interface, peers, addresses, routes. @throws ProgramFailure, with some of it done: then tunnel the one before again */
  async tunnel(content: ConfigurationContent): Promise<void> {
    const own = content.settings.interface;
    await this.#wireGuard.ensure();
    await this.#wireGuard.setPort(own.listenPort);
    await this.#wireGuard.setPeers(await wantedPeers(content));
    await this.#wireGuard.setAddresses([`${own.ipv4}/32`, `${own.ipv6}/128`]);
    await this.#wireGuard.setRoutes(tunnelBlocks(content));
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

  #script(state: NftState): string {
    return this.#filters === undefined
      ? wholeTable(this.#table, state)
      : tableChange(this.#table, this.#filters, state);
  }
}

async function wantedPeers({ peers }: ConfigurationContent): Promise<ReadonlyMap<string, WantedPeer>> {
  const wanted = new Map<string, WantedPeer>();
  for (const [ipv4, peer] of Object.entries(peers)) {
    const endpoint =
      peer.kind === "site" && peer.endpoint !== undefined ? await endpointAddress(peer.endpoint) : undefined;
    wanted.set(peer.publicKey, { endpoint, allowedIps: allowedIpsOf(ipv4, peer) });
  }
  return wanted;
}
