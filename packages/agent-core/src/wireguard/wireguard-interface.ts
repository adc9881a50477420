/** The WireGuard interface: the kernel's, or wireguard-go's where the kernel has none. */
import { setTimeout as pause } from "node:timers/promises";
import { parseIpBlock } from "@gatehouse/addresses/ip-block";
import type { ConfigurationContent, Peer } from "@gatehouse/agent-protocol/gateway/configuration";
import { ProgramFailure, type ProgramRunner } from "../system/program-runner.ts";

/** Room for WireGuard's own header in a packet of 1,500 bytes, over IPv6. */
const mtuBytes = 1420;
/** Marks the routes that are the agent's own. */
const routeProtocol = "71";
/** How many peers one call of `wg` changes: the kernel bounds the length of a command line. */
const peersInACall = 500;

/** What `wg show … dump` says of one peer. */
export interface LivePeer {
  readonly endpoint: string | undefined;
  readonly allowedIps: readonly string[];
  /** Milliseconds since 1970. */
  readonly lastHandshake: number | undefined;
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

export interface WantedPeer {
  /** An address with a port, when it has to be found. */
  readonly endpoint: string | undefined;
  readonly allowedIps: readonly string[];
}

export class WireGuardInterface {
  readonly name: string;
  readonly #programs: ProgramRunner;
  readonly #privateKeyFile: string;
  /** Endpoints as they were wanted last. A peer's own may be another one since, for peers roam. */
  readonly #endpoints = new Map<string, string>();

  constructor(name: string, programs: ProgramRunner, privateKeyFile: string) {
    this.name = name;
    this.#programs = programs;
    this.#privateKeyFile = privateKeyFile;
  }

  /**
   * Refuses to take an interface that is somebody else's, whose peers would be gone: comes before all that changes it.
   *
   * @param publicKey that this agent gives to its interface, base64
   * @throws Error where one of this name is there and has another key, or is none of WireGuard's
   */
  async checkOwn(publicKey: string): Promise<void> {
    const instead = `Name another one with --interface, or take it away where nobody needs it: ip link delete dev ${this.name}`;
    let known: string;
    try {
      known = (await this.#programs.read("wg", ["show", this.name, "public-key"])).trim();
    } catch (error) {
      if (!(error instanceof ProgramFailure)) throw error;
      const isThere = await this.#programs.read("ip", ["link", "show", "dev", this.name]).then(
        () => true,
        () => false,
      );
      if (isThere) throw new Error(`The interface ${this.name} cannot be used (${error.message}). ${instead}`);
      return;
    }
    // One without a key was begun with, by an agent that was killed then.
    if (known === publicKey || known === "(none)" || known === "") return;
    throw new Error(
      `The interface ${this.name} is there with another key than this agent's: it is somebody else's. ${instead}`,
    );
  }

  /** Makes sure that there is one; one that is there already keeps its peers and their sessions. */
  async ensure(): Promise<void> {
    if (await this.isThere()) return;
    try {
      await this.#programs.change("ip", ["link", "add", "dev", this.name, "type", "wireguard"]);
    } catch (error) {
      if (!(error instanceof ProgramFailure)) throw error;
      await this.#serve();
      await this.#untilAnswers(error);
    }
  }

  /** In the foreground and a process of its own: it goes on when the agent ends, and so do the tunnels. */
  #serve(): Promise<void> {
    const environment = { WG_PROCESS_FOREGROUND: "1", LOG_LEVEL: "error" };
    return this.#programs.start("wireguard-go", ["--foreground", this.name], environment);
  }

  /** By public key. */
  async livePeers(): Promise<ReadonlyMap<string, LivePeer>> {
    const dump = await this.#programs.read("wg", ["show", this.name, "dump"]);
    const peers = new Map<string, LivePeer>();
    for (const line of dump.split("\n").slice(1)) {
      const [key, , endpoint, allowedIps = "", handshake, received, sent] = line.split("\t");
      if (key === undefined || key === "") continue;
      const handshakeS = Number(handshake);
      peers.set(key, {
        endpoint: endpoint === "(none)" ? undefined : endpoint,
        allowedIps: allowedIps === "(none)" ? [] : allowedIps.split(","),
        lastHandshake: handshakeS > 0 ? handshakeS * 1000 : undefined,
        receivedBytes: Number(received),
        sentBytes: Number(sent),
      });
    }
    return peers;
  }

  async setPort(listenPort: number): Promise<void> {
    await this.#programs.change("wg", [
      "set",
      this.name,
      "listen-port",
      String(listenPort),
      "private-key",
      this.#privateKeyFile,
    ]);
  }

  /**
   * Changes the peers that differ, and touches no other: their sessions go on.
   *
   * @param wanted by public key
   */
  async setPeers(wanted: ReadonlyMap<string, WantedPeer>): Promise<void> {
    const live = await this.livePeers();
    const changes: string[][] = [];
    // First those that go: an address that one peer loses may be another one's.
    for (const key of live.keys()) if (!wanted.has(key)) changes.push(["peer", key, "remove"]);
    for (const [key, { endpoint, allowedIps }] of wanted) {
      const known = live.get(key);
      const isNew = known === undefined;
      const hasMoved = endpoint !== undefined && (isNew || this.#endpoints.get(key) !== endpoint);
      if (!isNew && !hasMoved && sameBlocks(known.allowedIps, allowedIps)) continue;
      const toEndpoint = hasMoved ? ["endpoint", endpoint, "persistent-keepalive", "25"] : [];
      changes.push(["peer", key, ...toEndpoint, "allowed-ips", allowedIps.join(",")]);
    }
    for (let start = 0; start < changes.length; start += peersInACall) {
      await this.#programs.change("wg", ["set", this.name, ...changes.slice(start, start + peersInACall).flat()]);
    }
    this.#endpoints.clear();
    for (const [key, { endpoint }] of wanted) if (endpoint !== undefined) this.#endpoints.set(key, endpoint);
  }

  /** Sets the key alone: the port is any, as the other sides are the ones that are found. */
  async setKey(mark: number): Promise<void> {
    await this.#programs.change("wg", ["set", this.name, "fwmark", String(mark), "private-key", this.#privateKeyFile]);
  }

  /** The interface's own addresses, with prefix lengths; brings it up. */
  async setAddresses(addresses: readonly string[]): Promise<void> {
    const link = `dev ${this.name}`;
    for (const family of ["-4", "-6"] as const) {
      const address = differenceOf(await this.#knownAddresses(family), addresses.filter(isOfFamily(family)));
      const lines = address.gone.map((text) => `address del ${text} ${link}`);
      // Without detection of duplicates: nobody else is on this link, and DNS is served on the address at once.
      const nodad = family === "-6" ? " nodad" : "";
      lines.push(...address.missing.map((text) => `address replace ${text} ${link}${nodad}`));
      if (family === "-4") lines.push(`link set ${link} mtu ${mtuBytes} up`);
      await this.#change(family, lines);
    }
  }

  /**
   * Routes into the tunnel.
   *
   * @param table of the kernel's routing tables
   */
  async setRoutes(blocks: readonly string[], table = "main"): Promise<void> {
    const own = `dev ${this.name} proto ${routeProtocol} table ${table}`;
    for (const family of ["-4", "-6"] as const) {
      const route = differenceOf(await this.#knownRoutes(family, table), blocks.filter(isOfFamily(family)));
      const lines = route.gone.map((text) => `route del ${text} ${own}`);
      lines.push(...route.missing.map((text) => `route replace ${text} ${own}`));
      await this.#change(family, lines);
    }
  }

  /** Takes it away with all that hangs on it; one that is not there is none to take away. */
  async remove(): Promise<void> {
    if (!(await this.isThere())) return;
    await this.#programs.change("ip", ["link", "delete", "dev", this.name]);
    // wireguard-go ends a moment after its interface, and until then nobody else can serve one of this name.
    for (let attempt = 0; attempt < startAttempts && (await this.isThere()); attempt++) await pause(startPauseMs);
  }

  async #change(family: "-4" | "-6", lines: readonly string[]): Promise<void> {
    if (lines.length > 0) await this.#programs.change("ip", [family, "-batch", "-"], `${lines.join("\n")}\n`);
  }

  /** Whether there is such an interface of WireGuard. */
  async isThere(): Promise<boolean> {
    try {
      await this.#programs.read("wg", ["show", this.name, "listen-port"]);
      return true;
    } catch (error) {
      if (error instanceof ProgramFailure) return false;
      throw error;
    }
  }

  /** @param refusal why the kernel makes none itself */
  async #untilAnswers(refusal: ProgramFailure): Promise<void> {
    for (let attempt = 1; attempt <= startAttempts; attempt++) {
      if (await this.isThere()) return;
      await pause(startPauseMs);
      // It ends at once where the one of an agent before still had the name.
      if (attempt % attemptsOfOne === 0 && attempt < startAttempts) await this.#serve();
    }
    throw new Error(
      `wireguard-go does not serve the interface ${this.name}: is /dev/net/tun there, and may it be opened? The kernel made none: ${refusal.message}`,
    );
  }

  async #knownAddresses(family: "-4" | "-6"): Promise<string[]> {
    const output = await this.#programs.read("ip", [
      "-json",
      family,
      "address",
      "show",
      "dev",
      this.name,
      "scope",
      "global",
    ]);
    const links = jsonList(output) as { addr_info?: { local?: string; prefixlen?: number }[] }[]; // of ip's own form
    return links.flatMap(({ addr_info = [] }) =>
      addr_info.flatMap(({ local, prefixlen }) => (local === undefined ? [] : [`${local}/${prefixlen}`])),
    );
  }

  async #knownRoutes(family: "-4" | "-6", table: string): Promise<string[]> {
    const args = ["-json", family, "route", "show", "table", table, "dev", this.name, "proto", routeProtocol];
    let output: string;
    try {
      output = await this.#programs.read("ip", args);
    } catch (error) {
      // A table without a route is none.
      if (error instanceof ProgramFailure && error.message.includes("table does not exist")) return [];
      throw error;
    }
    const routes = jsonList(output) as { dst: string }[]; // of ip's own form
    return routes.map(({ dst }) => (dst === "default" ? (family === "-4" ? "0.0.0.0/0" : "::/0") : dst));
  }
}

/** In all some five seconds. */
const startAttempts = 100;
/** After so many it is started anew. */
const attemptsOfOne = 20;
const startPauseMs = 50;

/** What WireGuard lets out of the tunnel for a peer, and sends to it. */
export function allowedIpsOf(ipv4: string, peer: Peer): readonly string[] {
  const own = [`${ipv4}/32`, `${peer.ipv6}/128`];
  return peer.kind === "device" ? own : [...own, ...peer.networks];
}

/** What is routed into the tunnel. */
export function tunnelBlocks({ settings, peers }: ConfigurationContent): readonly string[] {
  const networks = Object.values(peers).flatMap((peer) => (peer.kind === "site" ? peer.networks : []));
  return [...new Set([...settings.interface.pools, ...networks])];
}

const isOfFamily = (family: "-4" | "-6") => (text: string) => text.includes(":") === (family === "-6");

function sameBlocks(left: readonly string[], right: readonly string[]): boolean {
  const known = new Set(left.map(normalised));
  return known.size === new Set(right.map(normalised)).size && right.every((block) => known.has(normalised(block)));
}

function differenceOf(known: readonly string[], wanted: readonly string[]) {
  const isKnown = new Set(known.map(normalised));
  const isWanted = new Set(wanted.map(normalised));
  return {
    gone: known.filter((text) => !isWanted.has(normalised(text))),
    missing: wanted.filter((text) => !isKnown.has(normalised(text))),
  };
}

/** One text for each block, however a program writes it. */
function normalised(text: string): string {
  const block = parseIpBlock(text) ?? parseIpBlock(text.split("/")[0] ?? "");
  return block === undefined
    ? text
    : `${block.family}:${block.first}/${text.split("/")[1] ?? (block.family === 4 ? 32 : 128)}`;
}

function jsonList(output: string): unknown[] {
  const value: unknown = output.trim() === "" ? [] : JSON.parse(output);
  return Array.isArray(value) ? value : [];
}
