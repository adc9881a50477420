/**
 * A device and two gateways, each on a separate machine:
 *
 *     device ── public ─┬─ gateway one ─┐
 *                       └─ gateway two ─┴─ 10.80.0.11, 10.80.0.12 (each has both: they are of one site)
 *
 * The device runs `gatehouse device run` and, beside it, a control plane that the test controls. Gateways run only
 * WireGuard.
 */
import type { ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { DeviceHeartbeat, DeviceHello } from "@gatehouse/agent-protocol/device/frames";
import type { DeviceConfiguration, DeviceGateway } from "@gatehouse/contract/records/device-configuration";
import { fromSource } from "../../packages/cli/src/testing/gatehouse-process.ts";
import { DeviceFolder } from "../../packages/device/src/configuration/device-folder.ts";
import type { Answer } from "../../packages/device/src/testing/fake-control-plane.ts";
import type { ControlPlaneOrder } from "../../packages/device/src/testing/fake-control-plane-process.ts";
import { until } from "../../packages/server/src/testing/until.ts";
import { type Namespace, Namespaces, Prober } from "./namespaces.ts";

const controlPlaneFromSource = fileURLToPath(
  new URL("../../packages/device/src/testing/fake-control-plane-from-source.mjs", import.meta.url),
);

export const site = { app: "10.80.0.11", files: "10.80.0.12" };
/** Addresses of the device's own network. Gateways answer them for names. */
export const localAddresses = { resolver: "192.0.2.53", "second-resolver": "192.0.2.54", router: "192.0.2.254" };
/** A port that both gateways serve, and one port for each gateway, which shows which gateway carried a packet. */
export const ports = { both: 8080, one: 8081, two: 8082 };
const listenPort = 51820;
const own = { ipv4: "100.64.0.1", ipv6: "fd64::1" };
/** The control plane's port, which stays the same over restarts. */
const controlPort = 18080;
/** A first start on this machine transpiles the command. */
const startMs = 50_000;

export interface FarGateway {
  readonly id: string;
  readonly publicKey: string;
  readonly addresses: readonly [string, string];
  readonly endpoint: string;
  readonly namespace: Namespace;
  readonly prober: Prober;
}

interface State {
  readonly isLinked: boolean;
  readonly hello?: DeviceHello;
  readonly heartbeat?: DeviceHeartbeat;
}

export class DeviceWorld {
  readonly namespaces = new Namespaces();
  readonly device = randomUUID();
  readonly folder = mkdtempSync(path.join(tmpdir(), "gatehouse-device-"));
  readonly stateFolder = path.join(this.folder, "state");
  readonly interfaceName = `gd${this.namespaces.id}`;
  readonly gateways: FarGateway[] = [];
  log = "";
  #network: Namespace | undefined;
  #machine: Namespace | undefined;
  #prober: Prober | undefined;
  #agent: ChildProcess | undefined;
  #controlPlane: ChildProcess | undefined;
  #waiting: ((answer: unknown) => void)[] = [];

  async build(): Promise<void> {
    const { namespaces } = this;
    const wide = namespaces.addNetwork("public");
    this.#network = wide;
    this.#machine = namespaces.add("device");
    namespaces.connect(this.#machine, wide, "wide", ["192.0.2.11/24", "2001:db8:2::11/64"]);
    mkdirSync(this.stateFolder, { mode: 0o700 });
    const publicKey = await new DeviceFolder(this.stateFolder).publicKey();
    for (const [index, role] of (["one", "two"] as const).entries()) {
      this.gateways.push(await this.#addGateway(index + 1, role, wide, publicKey));
    }
    this.#prober = new Prober(this.#machine);
    await this.#prober.ready;
  }

  remove(): void {
    this.namespaces.remove();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Runs commands on the device, like a person at the device. */
  get prober(): Prober {
    if (this.#prober === undefined) throw new Error("the world is not built");
    return this.#prober;
  }

  get machine(): Namespace {
    if (this.#machine === undefined) throw new Error("the world is not built");
    return this.#machine;
  }

  /** The network that connects the device with the gateways. */
  get network(): Namespace {
    if (this.#network === undefined) throw new Error("the world is not built");
    return this.#network;
  }

  /** Returns a configuration with these gateways and their traffic. */
  content(gateways: readonly Partial<DeviceGateway>[], more: Partial<DeviceConfiguration> = {}): DeviceConfiguration {
    return {
      device: this.device,
      ...own,
      ...more,
      gateways: gateways.map((changes, index) => {
        const known = this.gateways.find(({ id }) => id === changes.gateway) ?? this.gateways[index];
        if (known === undefined) throw new Error("there are two gateways");
        const { id, publicKey, addresses, endpoint } = known;
        return {
          gateway: id,
          publicKey,
          addresses: [...addresses],
          endpoint,
          relays: [],
          allowedIps: [],
          names: [],
          ...changes,
        };
      }),
    };
  }

  async startControlPlane(): Promise<void> {
    const args = [controlPlaneFromSource, this.device, String(controlPort)];
    const child = this.machine.start(process.execPath, args);
    this.#controlPlane = child;
    let errors = "";
    child.stderr?.on("data", (text: Buffer) => {
      errors += text;
    });
    const started = this.#nextAnswer() as Promise<{ readonly url?: string; readonly token?: string }>;
    if (child.stdout !== null) {
      createInterface({ input: child.stdout }).on("line", (line) => this.#waiting.shift()?.(JSON.parse(line)));
    }
    child.once("close", () => {
      for (const waiting of this.#waiting.splice(0))
        waiting({ type: "failed", message: `no control plane: ${errors}` });
    });
    const { url, token } = await started;
    if (url === undefined) throw new Error(`no control plane: ${errors}`);
    const enrolment = { url, device: this.device, name: "Laptop", user: "ann@example.com", token };
    writeFileSync(path.join(this.stateFolder, "enrolment.json"), JSON.stringify(enrolment), { mode: 0o600 });
  }

  stopControlPlane(): Promise<unknown> {
    return ended(this.#controlPlane, "SIGKILL");
  }

  /** @param options the folder that the agent has in place of /etc */
  startAgent({ etc }: { readonly etc?: string } = {}): void {
    const { stateFolder, interfaceName } = this;
    const args = [...fromSource, "device", "run", "--interface", interfaceName, "--state-folder", stateFolder];
    // `ip netns exec` gives each program its own mounts.
    const mount = ["-c", 'mount --bind "$0" /etc && exec "$@"', etc ?? "", process.execPath];
    const agent =
      etc === undefined ? this.machine.start(process.execPath, args) : this.machine.start("sh", [...mount, ...args]);
    this.#agent = agent;
    this.log = "";
    agent.stderr?.on("data", (text: Buffer) => {
      this.log += text;
    });
  }

  /** @returns the agent's exit code */
  stopAgent(signal: NodeJS.Signals): Promise<number | null> {
    // `ip netns exec` becomes the program: the signal reaches the agent itself.
    return ended(this.#agent, signal);
  }

  /** Sends a configuration, and waits for the device's response. */
  async configure(configure: DeviceConfiguration, more: Omit<ControlPlaneOrder, "configure"> = {}): Promise<Answer> {
    return (await this.#order({ configure, ...more })) as Answer; // as fake-control-plane-process.ts answers
  }

  /** Sets the control plane's answer to the device's questions. */
  async answer(access: NonNullable<ControlPlaneOrder["access"]>): Promise<void> {
    await this.#order({ access });
  }

  async state(): Promise<State> {
    return (await this.#order({ state: true })) as State; // as above
  }

  linked(): Promise<number> {
    return until("the device is linked", async () => (await this.state()).isLinked, startMs);
  }

  /** Returns the gateways that carry packets to the application. */
  async carriers(host: string = site.app): Promise<readonly string[]> {
    const [one, two] = await Promise.all([ports.one, ports.two].map((port) => this.prober.ask("tcp", { host, port })));
    return [...(one === true ? ["one"] : []), ...(two === true ? ["two"] : [])];
  }

  #order(order: ControlPlaneOrder): Promise<unknown> {
    const answer = this.#nextAnswer();
    this.#controlPlane?.stdin?.write(`${JSON.stringify(order)}\n`);
    return answer;
  }

  #nextAnswer(): Promise<unknown> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async #addGateway(
    number: number,
    role: "one" | "two",
    wide: Namespace,
    devicePublicKey: string,
  ): Promise<FarGateway> {
    const namespace = this.namespaces.add(`gateway-${role}`);
    this.namespaces.connect(namespace, wide, "wide", [`192.0.2.${number}/24`, `2001:db8:2::${number}/64`]);
    const interfaceName = `g${number}${this.namespaces.id}`;
    namespace.start("wireguard-go", ["--foreground", interfaceName], {
      PATH: process.env.PATH,
      WG_PROCESS_FOREGROUND: "1",
    });
    await until("wireguard-go serves", () => existsSync(`/var/run/wireguard/${interfaceName}.sock`));
    const privateKey = namespace.run("wg", ["genkey"]).trim();
    const publicKey = namespace.run("wg", ["pubkey"], privateKey).trim();
    const keyFile = path.join(this.folder, `${role}.key`);
    writeFileSync(keyFile, privateKey, { mode: 0o600 });
    const peer = ["peer", devicePublicKey, "allowed-ips", `${own.ipv4}/32,${own.ipv6}/128`];
    namespace.run("wg", ["set", interfaceName, "private-key", keyFile, "listen-port", String(listenPort), ...peer]);
    const addresses = [`100.64.255.${number}`, `fd64::ff:${number}`] as const;
    for (const address of addresses) namespace.run("ip", ["address", "add", address, "dev", interfaceName]);
    namespace.run("ip", ["link", "set", interfaceName, "mtu", "1420", "up"]);
    namespace.run("ip", ["route", "add", `${own.ipv4}/32`, "dev", interfaceName]);
    namespace.run("ip", ["-6", "route", "add", `${own.ipv6}/128`, "dev", interfaceName]);
    for (const address of Object.values(site)) namespace.run("ip", ["address", "add", `${address}/32`, "dev", "lo"]);
    const prober = new Prober(namespace);
    await prober.ready;
    const hosts = Object.values(site);
    for (const port of [ports.both, ports[role]]) await prober.ask("echo", { port, hosts });
    const names = Object.entries({ files: site.files, ...localAddresses });
    const records = Object.fromEntries(
      names.map(([name, address]) => [`${name}.internal.example.com`, { A: [address] }]),
    );
    await prober.ask("serveNames", { host: addresses[0], records });
    return { id: randomUUID(), publicKey, addresses, endpoint: `192.0.2.${number}:${listenPort}`, namespace, prober };
  }
}

function ended(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<number | null> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) {
    return Promise.resolve(child?.exitCode ?? null);
  }
  const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
  child.kill(signal);
  return closed;
}
