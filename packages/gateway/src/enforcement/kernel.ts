/** Applies configurations to the kernel: WireGuard, addresses and routes, and one nftables table. */
import { DEVICE_POOL } from "@gatehouse/addresses/special-purpose";
import { hostAndPort } from "@gatehouse/agent-core/dns/host-resolver";
import { ProgramFailure, type ProgramRunner } from "@gatehouse/agent-core/system/program-runner";
import { ipv6Obstacle } from "@gatehouse/agent-core/wireguard/ipv6-obstacle";
import {
  allowedIpsOf,
  tunnelBlocks,
  type WantedPeer,
  type WireGuardInterface,
} from "@gatehouse/agent-core/wireguard/wireguard-interface";
import type { ConfigurationContent } from "@gatehouse/agent-protocol/gateway/configuration";
import type { EndpointHosts } from "../names/endpoint-hosts.ts";
import { DeviceRoute, otherGatewayText } from "./device-route.ts";
import { Forwarding } from "./forwarding.ts";
import { countedElements, hasElements, ruleHandles } from "./nft-listing.ts";
import { type NftState, tableChange, wholeTable } from "./nft-state.ts";
import { movedRelayPorts } from "./relay-rules.ts";
import { type PartRepair, resultOf, type Step, type TunnelPart } from "./tunnel-parts.ts";

/** Elements are compared at each check of the rules if there are at most this many, otherwise less often. */
const elementsPerCheck = 5_000;

export class Kernel {
  readonly #wireGuard: WireGuardInterface;
  readonly #programs: ProgramRunner;
  readonly #hosts: EndpointHosts;
  readonly #forwarding: Forwarding;
  readonly #deviceRoute: DeviceRoute;
  readonly #ipv6Obstacle: typeof ipv6Obstacle;
  readonly #table: string;
  /** The state of the table; undefined: unknown, so the table is replaced. */
  #filters: NftState | undefined;
  /** The handles of the rules at the first check after the last change. */
  #handles: string | undefined;
  #checks = 0;
  /** Whether the last change of the tunnel succeeded. Otherwise, differences may be remains of the failed one. */
  #isTunnelKnown = false;
  #hasIpv6 = true;
  /** The parts that were restored when a configuration was applied. The next call of `repairTunnel` reports them. */
  readonly #unreported = new Set<TunnelPart>();
  #flushing: Promise<void> = Promise.resolve();
  /** The packets of each resolved address at the last call of `usedNames`. */
  #counted: ReadonlyMap<string, number> = new Map();

  constructor(
    wireGuard: WireGuardInterface,
    programs: ProgramRunner,
    hosts: EndpointHosts,
    forwarding = new Forwarding(wireGuard.name),
    obstacle = ipv6Obstacle,
  ) {
    this.#ipv6Obstacle = obstacle;
    this.#forwarding = forwarding;
    this.#wireGuard = wireGuard;
    this.#programs = programs;
    this.#hosts = hosts;
    this.#deviceRoute = new DeviceRoute(wireGuard.name, programs);
    this.#table = `gatehouse-${wireGuard.name}`;
  }

  /**
   * Replaces the filters in one transaction.
   *
   * @throws ProgramFailure if the kernel refuses. The previous filters are still active then
   */
  async filter(state: NftState): Promise<void> {
    if (state === this.#filters) return;
    await this.#retryWithWholeTable(async () => {
      const script = this.#script(state);
      if (script !== "") await this.#programs.change("nft", ["-f", "-"], script);
    });
    const previous = this.#filters;
    this.#filters = state;
    this.#handles = undefined;
    const moved = movedRelayPorts(previous?.sets, state.sets);
    if (moved.length > 0) this.#flushing = this.#flushing.then(() => this.#flushRelayed(moved));
  }

  /**
   * Flushes the conntrack entries of relay ports. The kernel chooses a target with a connection's first packet, so
   * devices would otherwise keep the previous target. Filters do not depend on this: they drop what may not pass.
   */
  async #flushRelayed(ports: ReturnType<typeof movedRelayPorts>): Promise<void> {
    for (const { family, port } of ports) {
      const selector = ["-f", family === 4 ? "ipv4" : "ipv6", "-p", "udp", "--orig-port-dst", port];
      // Without the program, devices only keep the previous target.
      await this.#flush(selector).catch(() => {});
    }
  }

  async #flush(selector: readonly string[]): Promise<void> {
    await this.#programs.change("conntrack", ["-D", ...selector]).catch((error: unknown) => {
      // The command also fails if no entry matches.
      if (!(error instanceof ProgramFailure) || !error.message.includes(" 0 flow entries")) throw error;
    });
  }

  /** @throws ProgramFailure if the kernel would refuse these filters */
  async checkFilters(state: NftState): Promise<void> {
    await this.#retryWithWholeTable(async () => {
      const script = this.#script(state);
      if (script !== "") await this.#programs.read("nft", ["-c", "-f", "-"], script);
    });
  }

  /**
   * Whether the table is as the agent wrote it. Any privileged program can change it. `nft flush ruleset` removes it,
   * and most nftables files start with it. Without the table, all traffic passes. After a change, the next `filter`
   * replaces the whole table.
   */
  async hasFilters(): Promise<boolean> {
    const filters = this.#filters;
    if (filters === undefined) return true;
    const table = ["list", "table", "inet", this.#table];
    const read = (options: readonly string[]) =>
      this.#programs.read("nft", [...options, ...table]).catch((error: unknown) => {
        // The table is missing or unreadable. Creating it again reveals which.
        if (error instanceof ProgramFailure) return undefined;
        throw error;
      });
    const rules = await read(["--stateless", "--terse", "--handle"]);
    const handles = rules === undefined ? undefined : ruleHandles(rules, filters);
    let isIntact = handles !== undefined && (this.#handles === undefined || this.#handles === handles);
    this.#checks += 1;
    const isDue = this.#checks % elementChecks(filters) === 0;
    if (isIntact && isDue) {
      const elements = await read(["--json"]);
      isIntact = elements !== undefined && hasElements(elements, filters);
    }
    this.#handles = isIntact ? handles : undefined;
    if (!isIntact) this.#filters = undefined;
    return isIntact;
  }

  /** Returns the addresses of names that received packets since the previous call. */
  async usedNames(): Promise<ReadonlySet<string>> {
    const used = new Set<string>();
    const counted = new Map<string, number>();
    for (const map of ["names4", "names6"]) {
      const listed = await this.#programs.read("nft", ["-j", "list", "map", "inet", this.#table, map]);
      for (const [address, packets] of countedElements(listed)) {
        counted.set(address, packets);
        // A new element, or one with another verdict, counts from zero.
        if (packets > 0 && packets !== this.#counted.get(address)) used.add(address);
      }
    }
    this.#counted = counted;
    return used;
  }

  /**
   * Repairs what other programs changed in the tunnel. A part that cannot be restored does not affect the others.
   *
   * @returns each part that was changed since the last call
   */
  async *repairTunnel(content: ConfigurationContent): AsyncGenerator<PartRepair> {
    for (const part of this.#unreported) {
      this.#unreported.delete(part);
      yield { part };
    }
    const created = await resultOf("interface", () => this.#wireGuard.ensure());
    if (created !== undefined) yield created;
    let isComplete = created?.problem === undefined;
    const obstacle = await this.#ipv6Obstacle(this.#wireGuard.name);
    if (obstacle !== undefined) yield { part: "IPv6", problem: obstacle };
    if (isComplete) {
      for (const [part, set] of this.#steps(content, obstacle === undefined)) {
        const result = await resultOf(part, set);
        if (result?.problem !== undefined) isComplete = false;
        // A new interface lacks all parts.
        const isNews = result?.problem !== undefined || (this.#isTunnelKnown && created === undefined);
        if (result !== undefined && isNews) yield result;
      }
    }
    this.#hasIpv6 = obstacle === undefined;
    const { isRestored, problem } = await this.#forwarding.enable(this.#hasIpv6);
    if (isRestored) yield { part: "forwarding" };
    if (problem !== undefined) yield { part: "forwarding", problem };
    if (isComplete) this.#isTunnelKnown = true;
  }

  /**
   * Applies interface, peers, addresses and routes.
   *
   * @throws ProgramFailure after a part was applied. Apply the previous content again then
   */
  async tunnel(content: ConfigurationContent): Promise<void> {
    const wasKnown = this.#isTunnelKnown;
    this.#isTunnelKnown = false;
    const isCreated = await this.#wireGuard.ensure();
    const hasIpv6 = (await this.#ipv6Obstacle(this.#wireGuard.name)) === undefined;
    const changed: TunnelPart[] = [];
    for (const [part, set] of this.#steps(content, hasIpv6)) if (await set()) changed.push(part);
    this.#hasIpv6 = hasIpv6;
    this.#isTunnelKnown = true;
    if (!wasKnown) return;
    for (const part of isCreated ? ["interface" as const] : changed) this.#unreported.add(part);
  }

  /** Enables forwarding. @throws Error if the machine does not allow that */
  async forward(): Promise<void> {
    const hasIpv6 = (await this.#ipv6Obstacle(this.#wireGuard.name)) === undefined;
    const { isRestored, problem } = await this.#forwarding.enable(hasIpv6);
    if (isRestored) this.#unreported.add("forwarding");
    if (problem !== undefined) throw new Error(problem);
  }

  /** Whether the tunnel has its IPv6 addresses, unless the last change of the tunnel failed. */
  get hasIpv6(): boolean {
    return this.#hasIpv6;
  }

  /** Returns the interface of another gateway agent that has the route to devices; undefined if none has it. */
  otherGateway(): Promise<string | undefined> {
    return this.#deviceRoute.otherGateway();
  }

  /**
   * Flushes the conntrack entries of connections from devices, so that late replies to them are not delivered. Filters
   * cannot drop those replies after another interface has the route to devices.
   *
   * @throws ProgramFailure if they cannot be flushed, for example because the program is not installed
   */
  endConnections(): Promise<void> {
    return this.#flush(["-f", "ipv4", "--orig-src", DEVICE_POOL]);
  }

  /** Sets the routes, unless that would take the route to devices from another gateway agent. */
  async #setRoutes(blocks: readonly string[]): Promise<boolean> {
    const other = await this.otherGateway();
    if (other !== undefined) throw new Error(otherGatewayText(other));
    return this.#wireGuard.setRoutes(blocks);
  }

  /** Returns the parts of an interface in the order in which they are set. */
  #steps(content: ConfigurationContent, hasIpv6: boolean): readonly Step[] {
    const own = content.settings.interface;
    const wireGuard = this.#wireGuard;
    const usable = (blocks: readonly string[]) => blocks.filter((block) => hasIpv6 || !block.includes(":"));
    return [
      ["private key", () => wireGuard.setPrivateKey()],
      ["listen port", () => wireGuard.setListenPort(own.listenPort)],
      ["peers", () => wireGuard.setPeers(wantedPeers(content, this.#hosts))],
      ["addresses", () => wireGuard.setAddresses(usable([`${own.ipv4}/32`, `${own.ipv6}/128`]))],
      ["routes", () => this.#setRoutes(usable(tunnelBlocks(content)))],
    ];
  }

  /**
   * If the kernel refuses a change, another program may have changed the table. The table is then replaced as a whole.
   */
  async #retryWithWholeTable(change: () => Promise<void>): Promise<void> {
    try {
      await change();
    } catch (error) {
      if (!(error instanceof ProgramFailure) || this.#filters === undefined) throw error;
      this.#filters = undefined;
      await change();
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

/** @returns the endpoint with its host resolved; undefined if it is unknown. The other site may still connect */
function addressOf(endpoint: string, hosts: EndpointHosts): string | undefined {
  const { host, port } = hostAndPort(endpoint);
  const { 4: ipv4, 6: ipv6 } = hosts.addressesOf(host);
  if (ipv4 !== undefined) return `${ipv4}:${port}`;
  return ipv6 === undefined ? undefined : `[${ipv6}]:${port}`;
}

/**
 * Returns the number of checks of rules for each check of elements. Listing a hundred thousand of them takes a second.
 */
function elementChecks({ sets }: NftState): number {
  let count = 0;
  for (const { elements } of sets.values()) count += elements.size;
  return Math.max(1, Math.ceil(count / elementsPerCheck));
}
