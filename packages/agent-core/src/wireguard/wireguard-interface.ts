/** The WireGuard interface: the kernel's, or wireguard-go's if the kernel has none. */
import { setTimeout as pause } from "node:timers/promises";
import type { ConfigurationContent, Peer } from "@gatehouse/agent-protocol/gateway/configuration";
import { errorMessage } from "../log.ts";
import { inputFile, ProgramFailure, type ProgramRunner } from "../system/program-runner.ts";
import { differenceOf, sameBlocks } from "./block-lists.ts";
import { type Family, jsonList, kernelRoutes } from "./kernel-routes.ts";
import { publicKeyIn } from "./wireguard-key.ts";

/** Leaves room for WireGuard's header in a packet of 1,500 bytes over IPv6. */
const mtuBytes = 1420;
/** Identifies the agent's routes. */
const routeProtocol = "71";
/** The number of peers that one call of `wg` removes. The kernel limits the length of a command line. */
const removedPerCall = 500;

/** A peer in the output of `wg show … dump`. */
export interface LivePeer {
  readonly endpoint: string | undefined;
  readonly allowedIps: readonly string[];
  /** Another program set a preshared key. The agent sets none. */
  readonly hasPresharedKey?: true;
  /** Milliseconds since 1970. */
  readonly lastHandshake: number | undefined;
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

export interface WantedPeer {
  /** An address with a port; undefined: the peer connects to this machine. */
  readonly endpoint: string | undefined;
  readonly allowedIps: readonly string[];
}

export class WireGuardInterface {
  readonly name: string;
  readonly #programs: ProgramRunner;
  readonly #privateKeyFile: string;
  /** The peers that were set last. Their current endpoints may differ, because peers roam. */
  #peers: ReadonlyMap<string, WantedPeer> | undefined;
  #wasKeySet = false;
  /** The port that was set last. */
  #port: number | undefined;
  /** The addresses that were set last. */
  #addresses: readonly string[] | undefined;
  /** The routes that were set last, by routing table. */
  readonly #routes = new Map<string, readonly string[]>();

  constructor(name: string, programs: ProgramRunner, privateKeyFile: string) {
    this.name = name;
    this.#programs = programs;
    this.#privateKeyFile = privateKeyFile;
  }

  /**
   * Checks that an existing interface belongs to this agent. Must be called before any change, which would remove the
   * peers of a foreign interface.
   *
   * @param publicKey the public key of this agent's interface, base64
   * @param formerKeys keys that it replaced. The interface may still have one if the agent has not run since
   * @throws Error if an interface of this name has another key, or is not a WireGuard interface
   */
  async checkOwn(publicKey: string, formerKeys: readonly string[] = []): Promise<void> {
    const remedy = `Choose another name with --interface, or delete the interface if nobody needs it: ip link delete dev ${this.name}`;
    let known: string;
    try {
      known = (await this.#programs.read("wg", ["show", this.name, "public-key"])).trim();
    } catch (error) {
      if (!(error instanceof ProgramFailure) || error.isMissing) throw error;
      const exists = await this.#programs.read("ip", ["link", "show", "dev", this.name]).then(
        () => true,
        () => false,
      );
      if (exists) throw new Error(`The interface ${this.name} cannot be used (${error.message}). ${remedy}`);
      return;
    }
    // An agent that was killed during setup leaves an interface without a key.
    if ([publicKey, ...formerKeys, "(none)", ""].includes(known)) return;
    throw new Error(
      `The interface ${this.name} has another key than this agent, so it belongs to another program. ${remedy}`,
    );
  }

  /**
   * Creates the interface if it does not exist. An existing interface keeps its peers and sessions.
   *
   * @returns whether the interface was created
   */
  async ensure(): Promise<boolean> {
    if (await this.exists()) return false;
    try {
      await this.#programs.change("ip", ["link", "add", "dev", this.name, "type", "wireguard"]);
    } catch (error) {
      if (!(error instanceof ProgramFailure)) throw error;
      await this.#startUserspace().catch((missing: unknown) => {
        throw new Error(`${errorMessage(missing)}. The kernel did not create a WireGuard interface: ${error.message}`);
      });
      await this.#waitUntilExists(error);
    }
    return true;
  }

  /** Starts wireguard-go as a detached process in the foreground. It outlives the agent, and so do the tunnels. */
  #startUserspace(): Promise<void> {
    const environment = { WG_PROCESS_FOREGROUND: "1", LOG_LEVEL: "error" };
    return this.#programs.start("wireguard-go", ["--foreground", this.name], environment);
  }

  /** Returns the peers by public key. */
  async livePeers(): Promise<ReadonlyMap<string, LivePeer>> {
    const dump = await this.#programs.read("wg", ["show", this.name, "dump"]);
    const peers = new Map<string, LivePeer>();
    for (const line of dump.split("\n").slice(1)) {
      const [key, presharedKey, endpoint, allowedIps = "", handshake, received, sent] = line.split("\t");
      if (key === undefined || key === "") continue;
      const handshakeS = Number(handshake);
      peers.set(key, {
        endpoint: endpoint === "(none)" ? undefined : endpoint,
        allowedIps: allowedIps === "(none)" ? [] : allowedIps.split(","),
        ...(presharedKey === "(none)" ? {} : { hasPresharedKey: true }),
        lastHandshake: handshakeS > 0 ? handshakeS * 1000 : undefined,
        receivedBytes: Number(received),
        sentBytes: Number(sent),
      });
    }
    return peers;
  }

  /**
   * Sets the private key if the interface has another one.
   *
   * @returns whether another program changed it since the last call
   */
  async setPrivateKey(): Promise<boolean> {
    const isSame = (await this.#shown("public-key")) === (await publicKeyIn(this.#privateKeyFile));
    if (!isSame) await this.#programs.change("wg", ["set", this.name, "private-key", this.#privateKeyFile]);
    const isRepair = !isSame && this.#wasKeySet;
    this.#wasKeySet = true;
    return isRepair;
  }

  /**
   * Sets the port if it differs. Setting the same port would make wireguard-go reopen its socket. Packets would be
   * lost, and another program could take the port.
   *
   * @returns whether another program changed it since the last call
   */
  async setListenPort(wanted: number): Promise<boolean> {
    const isSame = Number(await this.#shown("listen-port")) === wanted;
    if (!isSame) await this.#programs.change("wg", ["set", this.name, "listen-port", String(wanted)]);
    const isRepair = !isSame && this.#port === wanted;
    this.#port = wanted;
    return isRepair;
  }

  /** Reads one setting. Unlike a dump, it does not list all peers. */
  async #shown(setting: "public-key" | "listen-port" | "fwmark"): Promise<string> {
    return (await this.#programs.read("wg", ["show", this.name, setting])).trim();
  }

  /**
   * Changes the peers that differ. The sessions of other peers continue.
   *
   * @param wanted the desired peers by public key
   * @returns whether another program changed peers since the last call
   */
  async setPeers(wanted: ReadonlyMap<string, WantedPeer>): Promise<boolean> {
    const live = await this.livePeers();
    const last = this.#peers;
    // Removals come first: an address that one peer loses may belong to another one.
    const removed = [...live.keys()].filter((key) => !wanted.has(key));
    for (let start = 0; start < removed.length; start += removedPerCall) {
      const peers = removed.slice(start, start + removedPerCall).flatMap((key) => ["peer", key, "remove"]);
      await this.#programs.change("wg", ["set", this.name, ...peers]);
    }
    let isRepair = last !== undefined && removed.some((key) => !last.has(key));
    const sections: string[] = [];
    for (const [key, { endpoint, allowedIps }] of wanted) {
      const known = live.get(key);
      const lastSet = last?.get(key);
      const hasMoved = endpoint !== undefined && (known === undefined || lastSet?.endpoint !== endpoint);
      const hasPresharedKey = known?.hasPresharedKey === true;
      const isIntact = known !== undefined && !hasPresharedKey && sameBlocks(known.allowedIps, allowedIps);
      if (isIntact && !hasMoved) continue;
      if (!isIntact && lastSet !== undefined && sameBlocks(lastSet.allowedIps, allowedIps)) isRepair = true;
      sections.push(peerSection(key, { endpoint: hasMoved ? endpoint : undefined, allowedIps, hasPresharedKey }));
    }
    // The input, unlike an argument, can have any number of blocks. It has no secrets.
    if (sections.length > 0) await this.#programs.change("wg", ["addconf", this.name, inputFile], sections.join(""));
    this.#peers = wanted;
    return isRepair;
  }

  /** Sets the key and the mark of WireGuard's packets. The port stays arbitrary, because this side connects. */
  async setKey(mark: number): Promise<void> {
    await this.setPrivateKey();
    if (Number(await this.#shown("fwmark")) === mark) return;
    await this.#programs.change("wg", ["set", this.name, "fwmark", String(mark)]);
  }

  /**
   * Sets the interface's addresses, with prefix lengths, and brings the interface up.
   *
   * @returns whether another program changed them since the last call
   */
  async setAddresses(addresses: readonly string[]): Promise<boolean> {
    const link = `dev ${this.name}`;
    const isSame = this.#addresses !== undefined && sameBlocks(this.#addresses, addresses);
    let isRepair = false;
    await forEachFamily(async (family) => {
      const known = await this.#knownAddresses(family);
      const address = differenceOf(known.addresses, addresses.filter(isOfFamily(family)));
      const lines = address.removed.map((text) => `address del ${text} ${link}`);
      // Without duplicate address detection: DNS must be served on the address immediately.
      const nodad = family === "-6" ? " nodad" : "";
      lines.push(...address.missing.map((text) => `address replace ${text} ${link}${nodad}`));
      // A link without addresses of the family has no flags in the output of ip.
      if (family === "-4" && !known.isUp) lines.push(`link set ${link} mtu ${mtuBytes} up`);
      isRepair ||= isSame && lines.length > 0 && (known.addresses.length > 0 || address.missing.length > 0);
      await this.#change(family, lines);
    });
    this.#addresses = addresses;
    return isRepair;
  }

  /**
   * Sets the routes into the tunnel.
   *
   * @param table the kernel's routing table
   * @returns whether another program changed them since the last call
   */
  async setRoutes(blocks: readonly string[], table = "main"): Promise<boolean> {
    const own = `dev ${this.name} proto ${routeProtocol} table ${table}`;
    const last = this.#routes.get(table);
    const isSame = last !== undefined && sameBlocks(last, blocks);
    let isRepair = false;
    await forEachFamily(async (family) => {
      const route = differenceOf(await this.#knownRoutes(family, table), blocks.filter(isOfFamily(family)));
      isRepair ||= isSame && route.removed.length + route.missing.length > 0;
      await this.#change(family, [
        ...route.removed.map((text) => `route del ${text} ${own}`),
        ...route.missing.map((text) => `route replace ${text} ${own}`),
      ]);
    });
    this.#routes.set(table, blocks);
    return isRepair;
  }

  /** Deletes the interface with its peers, addresses and routes, if it exists. */
  async remove(): Promise<void> {
    this.#peers = undefined;
    this.#wasKeySet = false;
    this.#port = undefined;
    this.#addresses = undefined;
    this.#routes.clear();
    if (!(await this.exists())) return;
    await this.#programs.change("ip", ["link", "delete", "dev", this.name]);
    // wireguard-go exits shortly after its interface. Until then, the name is taken.
    for (let attempt = 0; attempt < startAttempts && (await this.exists()); attempt++) await pause(startPauseMs);
  }

  async #change(family: Family, lines: readonly string[]): Promise<void> {
    if (lines.length > 0) await this.#programs.change("ip", [family, "-batch", "-"], `${lines.join("\n")}\n`);
  }

  /** Whether the WireGuard interface exists. */
  async exists(): Promise<boolean> {
    try {
      await this.#programs.read("wg", ["show", this.name, "listen-port"]);
      return true;
    } catch (error) {
      // Without wg, nothing is known about the interface.
      if (error instanceof ProgramFailure && !error.isMissing) return false;
      throw error;
    }
  }

  /** @param refusal why the kernel did not create the interface */
  async #waitUntilExists(refusal: ProgramFailure): Promise<void> {
    for (let attempt = 1; attempt <= startAttempts; attempt++) {
      if (await this.exists()) return;
      await pause(startPauseMs);
      // wireguard-go exits immediately if the process of an earlier agent still has the name.
      if (attempt % attemptsPerStart === 0 && attempt < startAttempts) await this.#startUserspace();
    }
    throw new Error(
      `wireguard-go did not create the interface ${this.name}. Check that /dev/net/tun exists and can be opened. The kernel refused to create it: ${refusal.message}`,
    );
  }

  /** Reads the addresses of a family, and whether the link is up with the right MTU. */
  async #knownAddresses(family: Family): Promise<{ readonly addresses: string[]; readonly isUp: boolean }> {
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
    const links = jsonList(output) as ListedLink[]; // the JSON output of ip
    const addresses = links.flatMap(({ addr_info = [] }) =>
      addr_info.flatMap(({ local, prefixlen }) => (local === undefined ? [] : [`${local}/${prefixlen}`])),
    );
    const isUp = links.some(({ flags = [], mtu }) => flags.includes("UP") && mtu === mtuBytes);
    return { addresses, isUp };
  }

  async #knownRoutes(family: Family, table: string): Promise<string[]> {
    const selector = ["table", table, "dev", this.name, "proto", routeProtocol];
    const routes = await kernelRoutes(this.#programs, family, selector);
    return routes.map(({ dst }) => (dst === "default" ? (family === "-4" ? "0.0.0.0/0" : "::/0") : dst));
  }
}

interface ListedLink {
  readonly flags?: readonly string[];
  readonly mtu?: number;
  readonly addr_info?: readonly { readonly local?: string; readonly prefixlen?: number }[];
}

/** About five seconds in total. */
const startAttempts = 100;
/** After this many attempts, wireguard-go is started again. */
const attemptsPerStart = 20;
const startPauseMs = 50;

/** Returns the allowed IPs of a peer. */
export function allowedIpsOf(ipv4: string, peer: Peer): readonly string[] {
  const own = [`${ipv4}/32`, `${peer.ipv6}/128`];
  return peer.kind === "device" ? own : [...own, ...peer.networks];
}

/** Returns the blocks that are routed into the tunnel. */
export function tunnelBlocks({ settings, peers }: ConfigurationContent): readonly string[] {
  const networks = Object.values(peers).flatMap((peer) => (peer.kind === "site" ? peer.networks : []));
  return [...new Set([...settings.interface.pools, ...networks])];
}

interface PeerChange extends WantedPeer {
  /** Whether the peer has a preshared key, which is to be removed. */
  readonly hasPresharedKey: boolean;
}

/** The key of zeros, which removes a preshared key. */
const noPresharedKey = `${"A".repeat(43)}=`;

/**
 * Returns a peer in the syntax of `wg addconf`, which replaces the allowed IPs of the peer. The key comes last: `wg`
 * refuses a peer without a key, and thus an input that ends within a peer.
 *
 * @param peer its endpoint is undefined if it does not change
 */
function peerSection(key: string, { endpoint, allowedIps, hasPresharedKey }: PeerChange): string {
  return [
    "[Peer]",
    ...(hasPresharedKey ? [`PresharedKey = ${noPresharedKey}`] : []),
    ...(endpoint === undefined ? [] : [`Endpoint = ${endpoint}`, "PersistentKeepalive = 25"]),
    // wg refuses an empty list.
    ...(allowedIps.length === 0 ? [] : [`AllowedIPs = ${allowedIps.join(", ")}`]),
    `PublicKey = ${key}\n`,
  ].join("\n");
}

const isOfFamily = (family: Family) => (text: string) => text.includes(":") === (family === "-6");

/** Calls the work for both families. A failure of one does not affect the other one. @throws the first error */
async function forEachFamily(work: (family: Family) => Promise<void>): Promise<void> {
  const results: PromiseSettledResult<void>[] = [];
  for (const family of ["-4", "-6"] as const) results.push(...(await Promise.allSettled([work(family)])));
  for (const result of results) if (result.status === "rejected") throw result.reason;
}
