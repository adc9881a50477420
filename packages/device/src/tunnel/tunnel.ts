/** The device's tunnel in the machine: a WireGuard interface, its routes, and the rules that select them. */
import { readFile } from "node:fs/promises";
import type { Log } from "@gatehouse/agent-core/log";
import type { ProgramRunner } from "@gatehouse/agent-core/system/program-runner";
import type { LivePeer, WireGuardInterface } from "@gatehouse/agent-core/wireguard/wireguard-interface";
import { everythingTable, packetMark, RoutingRules, tunnelTable } from "./routing-rules.ts";
import { isEverything, type WantedTunnel } from "./wanted-tunnel.ts";

export class Tunnel {
  readonly #wireGuard: WireGuardInterface;
  readonly #rules: RoutingRules;
  readonly #hasIpv6: () => Promise<boolean>;
  readonly #log: Log;

  constructor(
    wireGuard: WireGuardInterface,
    programs: ProgramRunner,
    { hasIpv6 = machineHasIpv6, log = () => {} }: { hasIpv6?: () => Promise<boolean>; log?: Log } = {},
  ) {
    this.#log = log;
    this.#wireGuard = wireGuard;
    this.#rules = new RoutingRules(programs);
    this.#hasIpv6 = hasIpv6;
  }

  /**
   * Checks that no other device agent uses this machine, because all of them use the same rules and tables.
   *
   * @param drainInterface the agent's second interface
   * @throws Error if another agent's interface exists
   */
  async checkRoutes(drainInterface: string): Promise<void> {
    const others = (await this.#rules.devices()).filter(
      (name) => name !== this.#wireGuard.name && name !== drainInterface,
    );
    if (others.length === 0) return;
    throw new Error(
      `Another device agent uses this machine, with the interface ${others.join(", ")}. Stop that agent. If none runs, delete the interface: ip link delete dev ${others[0]}`,
    );
  }

  /**
   * Applies the differences between the machine and the desired state. Peers come before the routes to them.
   *
   * @throws ProgramFailure after a part was applied. Apply the previous state again then
   */
  async apply(given: WantedTunnel): Promise<void> {
    const wanted = (await this.#hasIpv6()) ? given : withoutIpv6(given);
    await this.#wireGuard.ensure();
    await this.#wireGuard.setKey(packetMark);
    const isRepair = await this.#wireGuard.setPeers(wanted.peers);
    if (isRepair) this.#log("restored peers, which another program changed", { interface: this.#wireGuard.name });
    await this.#wireGuard.setAddresses(wanted.addresses);
    await this.#rules.set(wanted, async () => {
      await this.#wireGuard.setRoutes(
        wanted.routes.filter((block) => !isEverything(block)),
        tunnelTable,
      );
      await this.#wireGuard.setRoutes(wanted.routes.filter(isEverything), everythingTable);
    });
  }

  /** Removes everything, even if a part fails. @throws Error if a part failed */
  async remove(): Promise<void> {
    const results = await Promise.allSettled([
      this.#rules.set({ routes: [], bypassRoutes: [] }),
      this.#wireGuard.remove(),
    ]);
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }

  /** Returns the peers by public key. */
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
    bypassRoutes: wanted.bypassRoutes.filter(({ address }) => isIpv4(address)),
  };
}

/** New interfaces take the value of `default`. */
async function machineHasIpv6(): Promise<boolean> {
  for (const which of ["all", "default"]) {
    const text = await readFile(`/proc/sys/net/ipv6/conf/${which}/disable_ipv6`, "utf8").catch(() => "1");
    if (text.trim() === "1") return false;
  }
  return true;
}
