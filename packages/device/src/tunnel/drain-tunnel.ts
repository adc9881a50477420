/**
 * The second interface. Connections finish over it at gateways that the first interface no longer has: see `drain-
 * routes.ts`.
 */
import { readFile, writeFile } from "node:fs/promises";
import type { ProgramRunner } from "@gatehouse/agent-core/system/program-runner";
import type { LivePeer, WireGuardInterface } from "@gatehouse/agent-core/wireguard/wireguard-interface";
import { type Carriers, type Draining, drainScript, notDraining } from "./drain-routes.ts";
import { drainEverythingTable, drainMark, drainTable, packetMark } from "./routing-rules.ts";
import { isEverything } from "./wanted-tunnel.ts";

export class DrainTunnel {
  readonly #wireGuard: WireGuardInterface;
  readonly #programs: ProgramRunner;
  #exists = false;

  constructor(wireGuard: WireGuardInterface, programs: ProgramRunner) {
    this.#wireGuard = wireGuard;
    this.#programs = programs;
  }

  /**
   * Must be called before the first interface loses these gateways.
   *
   * @param current the gateway of each address range, now or in a moment
   * @param isMoving whether a gateway moves back to the first interface. Apply the draining again after the move
   * @throws Error if the machine refuses a change. Remove the drain tunnel then
   */
  async apply(draining: Draining, current: Carriers, isMoving: boolean): Promise<void> {
    const { routes } = draining;
    if (routes.length === 0) {
      if (this.#exists) await this.remove();
      return;
    }
    this.#exists = true;
    const blocks = routes.flatMap((route) => route.blocks);
    const setMarks = () =>
      this.#programs.change("nft", ["-f", "-"], drainScript(this.#table, draining, current, drainMark, isMoving));
    if (isMoving) await setMarks();
    await this.#wireGuard.ensure();
    await this.#wireGuard.setKey(packetMark);
    await this.#wireGuard.setPeers(
      new Map(routes.map(({ publicKey, endpoint, blocks: allowedIps }) => [publicKey, { endpoint, allowedIps }])),
    );
    await this.#wireGuard.setAddresses([]);
    await this.#relaxReversePathFilter();
    await this.#wireGuard.setRoutes(
      blocks.filter((block) => !isEverything(block)),
      drainTable,
    );
    await this.#wireGuard.setRoutes(blocks.filter(isEverything), drainEverythingTable);
    if (!isMoving) await setMarks();
  }

  /** Removes the interface and its table, including those that an earlier run left. */
  async remove(): Promise<void> {
    this.#exists = false;
    const hasTable = await this.#programs.read("nft", ["list", "table", "inet", this.#table]).then(
      () => true,
      () => false,
    );
    if (hasTable) {
      const script = drainScript(this.#table, notDraining, new Map(), drainMark);
      await this.#programs.change("nft", ["-f", "-"], script);
    }
    await this.#wireGuard.remove();
  }

  livePeers(): Promise<ReadonlyMap<string, LivePeer>> {
    return this.#wireGuard.livePeers();
  }

  get #table(): string {
    return `gatehouse-${this.#wireGuard.name}`;
  }

  /** Answers arrive here although the routes lead elsewhere. Strict reverse path filtering would drop them. */
  async #relaxReversePathFilter(): Promise<void> {
    const folder = "/proc/sys/net/ipv4/conf";
    const all = await readFile(`${folder}/all/rp_filter`, "utf8").catch(() => "0");
    const own = `${folder}/${this.#wireGuard.name}/rp_filter`;
    const current = await readFile(own, "utf8").catch(() => "0");
    // The kernel uses the higher of both values. 2 only requires that some route leads back.
    if (Math.max(Number(all), Number(current)) === 1) await writeFile(own, "2");
  }
}
