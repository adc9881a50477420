/** A device in the network of a test. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { until } from "../../packages/server/src/testing/until.ts";
import { type Namespace, Prober } from "./namespaces.ts";
import type { NetworkWorld } from "./network-world.ts";

interface NetworkDeviceParts {
  readonly world: NetworkWorld;
  readonly namespace: Namespace;
  readonly userId: string;
  readonly interfaceName: string;
}

/** What goes into the tunnel. */
const tunnelled = ["10.80.0.0/24", "fd80::/64", "203.0.113.0/24", "2001:db8:113::/64"];

/** STAND-IN for `gatehouse device run`: asks the API which gateway is in service, and says so to `wg`. */
export class NetworkDevice {
  readonly prober: Prober;
  id = "";
  readonly #parts: NetworkDeviceParts;
  #publicKey = "";
  #used: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(parts: NetworkDeviceParts) {
    this.#parts = parts;
    this.prober = new Prober(parts.namespace);
  }

  async enrol(): Promise<void> {
    const { world, namespace, userId, interfaceName } = this.#parts;
    await this.prober.ready;
    namespace.start("wireguard-go", ["--foreground", interfaceName], {
      PATH: process.env.PATH,
      WG_PROCESS_FOREGROUND: "1",
    });
    await until("wireguard-go serves", () => existsSync(`/var/run/wireguard/${interfaceName}.sock`));
    const privateKey = namespace.run("wg", ["genkey"]).trim();
    this.#publicKey = namespace.run("wg", ["pubkey"], privateKey).trim();
    const keyFile = path.join(world.folder, `${interfaceName}.key`);
    writeFileSync(keyFile, privateKey, { mode: 0o600 });
    namespace.run("wg", ["set", interfaceName, "private-key", keyFile]);
    const body = { name: interfaceName, userId, hardwareId: interfaceName, publicKey: this.#publicKey };
    this.id = (await world.administrator.create("/tenants/devices", body)).id;
  }

  async follow(): Promise<void> {
    await this.#look();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #addressed = false;

  /** The first gateway tells which address it has; with the tunnel's addresses it can begin. */
  #address(): void {
    const { world, namespace, interfaceName } = this.#parts;
    const file = path.join(world.folder, "gateway-1", "configuration.json");
    const { content } = JSON.parse(readFileSync(file, "utf8"));
    const peers = Object.entries(content.peers) as [string, { publicKey: string; ipv6: string }][];
    const own = peers.find(([, { publicKey }]) => publicKey === this.#publicKey);
    if (own === undefined) return;
    this.#addressed = true;
    const [ipv4, { ipv6 }] = own;
    for (const address of [`${ipv4}/32`, `${ipv6}/128`]) {
      namespace.run("ip", ["address", "add", address, "dev", interfaceName]);
    }
    namespace.run("ip", ["link", "set", interfaceName, "mtu", "1420", "up"]);
    for (const block of tunnelled) namespace.run("ip", ["route", "add", block, "dev", interfaceName]);
  }

  async #look(): Promise<void> {
    const { world, namespace, interfaceName } = this.#parts;
    if (!this.#addressed) this.#address();
    for (const [index, { id }] of world.gateways.entries()) {
      if (!this.#addressed) break;
      const answer = await world.administrator.ask("GET", `/tenants/gateways/${id}`);
      if (answer.status !== 200) break;
      const { status, publicKey } = JSON.parse(answer.text);
      if (status !== "ONLINE") continue;
      if (this.#used === publicKey || this.#isStopped) break;
      const peer = ["peer", publicKey, "endpoint", `192.0.2.${index + 1}:51820`, "allowed-ips", tunnelled.join(",")];
      namespace.run("wg", ["set", interfaceName, ...peer]);
      this.#used = publicKey;
      break;
    }
    if (!this.#isStopped) this.#timer = setTimeout(() => void this.#look().catch(() => this.#look()), 300);
  }
}
