/** The second interface, over which connections finish at gateways that the first one has no more: see `leaving-ways.ts`. */
import { readFile, writeFile } from "node:fs/promises";
import type { ProgramRunner } from "@gatehouse/agent-core/system/program-runner";
import type { LivePeer, WireGuardInterface } from "@gatehouse/agent-core/wireguard/wireguard-interface";
import { type Carriers, type Leaving, leavingScript, nothingLeaves } from "./leaving-ways.ts";
import { leavingEverythingTable, leavingMark, leavingTable, packetMark } from "./routing-rules.ts";
import { isEverything } from "./wanted-tunnel.ts";

export class LeavingTunnel {
  readonly #wireGuard: WireGuardInterface;
  readonly #programs: ProgramRunner;
  #isThere = false;

  constructor(wireGuard: WireGuardInterface, programs: ProgramRunner) {
    this.#wireGuard = wireGuard;
    this.#programs = programs;
  }

  /**
   * Comes before the first interface loses these gateways.
   *
   * @param now what goes where, or will in a moment
   * @param isMoving whether one that was here goes back to the first interface: bring it once more when it is there
   * @throws Error where the machine refuses: then remove it
   */
  async bring(leaving: Leaving, now: Carriers, isMoving: boolean): Promise<void> {
    const { ways } = leaving;
    if (ways.length === 0) {
      if (this.#isThere) await this.remove();
      return;
    }
    this.#isThere = true;
    const blocks = ways.flatMap((way) => way.blocks);
    const tell = () =>
      this.#programs.change("nft", ["-f", "-"], leavingScript(this.#table, leaving, now, leavingMark, isMoving));
    if (isMoving) await tell();
    await this.#wireGuard.ensure();
    await this.#wireGuard.setKey(packetMark);
    await this.#wireGuard.setPeers(
      new Map(ways.map(({ publicKey, endpoint, blocks: allowedIps }) => [publicKey, { endpoint, allowedIps }])),
    );
    await this.#wireGuard.setAddresses([]);
    await this.#acceptAnswers();
    await this.#wireGuard.setRoutes(
      blocks.filter((block) => !isEverything(block)),
      leavingTable,
    );
    await this.#wireGuard.setRoutes(blocks.filter(isEverything), leavingEverythingTable);
    if (!isMoving) await tell();
  }

  /** Also what an earlier run left. */
  async remove(): Promise<void> {
    this.#isThere = false;
    const hasTable = await this.#programs.read("nft", ["list", "table", "inet", this.#table]).then(
      () => true,
      () => false,
    );
    if (hasTable) {
      const script = leavingScript(this.#table, nothingLeaves, new Map(), leavingMark);
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

  /** Its packets come from where the routes lead elsewhere: strict checks of the reverse path would drop them. */
  async #acceptAnswers(): Promise<void> {
    const folder = "/proc/sys/net/ipv4/conf";
    const all = await readFile(`${folder}/all/rp_filter`, "utf8").catch(() => "0");
    const own = `${folder}/${this.#wireGuard.name}/rp_filter`;
    const present = await readFile(own, "utf8").catch(() => "0");
    // The kernel takes the higher of both; 2 looks at whether there is any way back.
    if (Math.max(Number(all), Number(present)) === 1) await writeFile(own, "2");
  }
}
