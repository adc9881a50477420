/** The device's end of its tunnels in the machine: a WireGuard interface, its routes, and the rules that lead to them. */
import { readFile } from "node:fs/promises";
import type { ProgramRunner } from "@gatehouse/agent-core/system/program-runner";
import type { LivePeer, WireGuardInterface } from "@gatehouse/agent-core/wireguard/wireguard-interface";
import { everythingTable, packetMark, RoutingRules, tunnelTable } from "./routing-rules.ts";
import { isEverything, type WantedTunnel } from "./wanted-tunnel.ts";

export class Tunnel {
  readonly #wireGuard: WireGuardInterface;
  readonly #rules: RoutingRules;
  readonly #hasIpv6: () => Promise<boolean>;

  constructor(wireGuard: WireGuardInterface, programs: ProgramRunner, hasIpv6 = machineHasIpv6) {
    this.#wireGuard = wireGuard;
    this.#rules = new RoutingRules(programs);
    this.#hasIpv6 = hasIpv6;
  }

  /**
   * Looks whether another device's agent uses this machine: rules and tables of routes are the same for all of them.
   *
   * @param second the other interface that is this agent's own
   * @throws Error where one does
   */
  async checkRoutes(second: string): Promise<void> {
    const others = (await this.#rules.devices()).filter((name) => name !== this.#wireGuard.name && name !== second);
    if (others.length === 0) return;
    throw new Error(
      `Another device's agent uses this machine, with the interface ${others.join(", ")}: one at a time can. Where none runs, one was killed: ip link delete dev ${others[0]}`,
    );
  }

  /**
   * Makes the machine as wanted; what is so already is not touched. Peers come before the routes to them.
   *
   * @throws ProgramFailure, with some of it done: then bring the one before again
   */
  async bring(given: WantedTunnel): Promise<void> {
    const wanted = (await this.#hasIpv6()) ? given : withoutIpv6(given);
    await this.#wireGuard.ensure();
    await this.#wireGuard.setKey(packetMark);
    await this.#wireGuard.setPeers(wanted.peers);
    await this.#wireGuard.setAddresses(wanted.addresses);
    await this.#wireGuard.setRoutes(
      wanted.routes.filter((block) => !isEverything(block)),
      tunnelTable,
    );
    await this.#wireGuard.setRoutes(wanted.routes.filter(isEverything), everythingTable);
    await this.#rules.set(wanted);
  }

  /** Leaves no trace. Does all of it even where a part fails. @throws Error where one did */
  async remove(): Promise<void> {
    const results = await Promise.allSettled([this.#rules.set({ routes: [], outside: [] }), this.#wireGuard.remove()]);
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }

  /** By public key. */
  livePeers(): Promise<ReadonlyMap<string, LivePeer>> {
    return this.#wireGuard.livePeers();
  }
}

function withoutIpv6(wanted: WantedTunnel): WantedTunnel {
  const isIpv4 = (text: string) => !text.includes(":");
  return {
    ...wanted,
    addresses: wanted.addresses.filter(isIpv4),
    routes: wanted.routes.filter(isIpv4),
    outside: wanted.outside.filter(({ address }) => isIpv4(address)),
  };
}

/** A new interface follows `default`. */
async function machineHasIpv6(): Promise<boolean> {
  for (const which of ["all", "default"]) {
    const text = await readFile(`/proc/sys/net/ipv6/conf/${which}/disable_ipv6`, "utf8").catch(() => "1");
    if (text.trim() === "1") return false;
  }
  return true;
}
