/**
 * Two gateways of one site, three devices and four targets, each on a separate machine:
 *
 *     device1…3 ─┐                 ┌─ app   10.80.0.11  fd80::11
 *     internet ──┤ public ─ gateway1…2 ─ site ─┼─ files 10.80.0.12  fd80::12
 *                                  └─ names 10.80.0.13  fd80::13
 *
 * Devices run only wireguard-go and `wg`. Gateways run the agent.
 */
import type { ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type {
  ConfigurationContent,
  ConfigurationHeader,
  SignedConfiguration,
} from "@gatehouse/agent-protocol/gateway/configuration";
import { ConfigurationSigner } from "../../packages/gateway/src/testing/configuration-signer.ts";
import { until } from "../../packages/server/src/testing/until.ts";
import { type Namespace, Namespaces, Prober } from "./namespaces.ts";

const agentFromSource = fileURLToPath(
  new URL("../../packages/gateway/src/testing/gateway-agent-from-source.mjs", import.meta.url),
);

export const listenPort = 51820;
export const app = { ipv4: "10.80.0.11", ipv6: "fd80::11" };
export const files = { ipv4: "10.80.0.12", ipv6: "fd80::12" };
export const names = { ipv4: "10.80.0.13", ipv6: "fd80::13" };
export const internet = { ipv4: "203.0.113.80", ipv6: "2001:db8:113::80" };
/** Ports that every target serves. */
export const ports = { web: 8080, admin: 9090 };

const publicNetwork = { ipv4: "192.0.2", ipv6: "2001:db8:2" };
const siteNetwork = { ipv4: "10.80.0", ipv6: "fd80:" };
/** Networks that devices send into the tunnel. */
const tunnelled = ["10.80.0.0/16", "fd80::/64", "100.64.0.0/10", "fd64::/64", "203.0.113.0/24", "2001:db8:113::/64"];

export interface Device {
  readonly ipv4: string;
  readonly ipv6: string;
  readonly publicKey: string;
  readonly namespace: Namespace;
  readonly interfaceName: string;
  readonly prober: Prober;
  /** Starts a new session immediately. WireGuard itself takes some 15 s to notice that its peer has lost a session. */
  reconnect(): void;
}

/** The agent's response: see gateway-agent.ts. */
export interface AgentAnswer {
  readonly state?: "applied" | "failed";
  readonly reason?: string;
  readonly message?: string;
  readonly publicKey?: string;
  readonly enforces?: { readonly generation: number } | null;
  readonly load?: number;
  readonly warnings?: readonly string[];
  /** The number of starts of each program. */
  readonly started?: Readonly<Record<string, number>>;
  /** The processor time of the agent and of the programs that it has run. */
  readonly processorSeconds?: number;
  readonly peers?: readonly {
    readonly peer: string;
    readonly lastHandshake?: number;
    readonly receivedBytes: number;
  }[];
}

export class Gateway {
  readonly id = randomUUID();
  readonly namespace: Namespace;
  readonly interfaceName: string;
  readonly stateFolder: string;
  readonly runtimeFolder: string;
  readonly addresses: { readonly ipv4: string; readonly ipv6: string };
  publicKey = "";
  log = "";
  readonly #signingKey: string;
  #child: ChildProcess | undefined;
  #waiting: ((answer: AgentAnswer) => void)[] = [];

  constructor(parts: {
    namespace: Namespace;
    interfaceName: string;
    stateFolder: string;
    runtimeFolder: string;
    addresses: { ipv4: string; ipv6: string };
    signingKey: string;
  }) {
    this.namespace = parts.namespace;
    this.interfaceName = parts.interfaceName;
    this.stateFolder = parts.stateFolder;
    this.runtimeFolder = parts.runtimeFolder;
    this.addresses = parts.addresses;
    this.#signingKey = parts.signingKey;
  }

  /** @returns the agent's response once it has started */
  async start(): Promise<AgentAnswer> {
    const args = [agentFromSource, this.interfaceName, this.stateFolder, this.runtimeFolder, this.#signingKey];
    const child = this.namespace.start(process.execPath, args);
    this.#child = child;
    child.stderr?.on("data", (text: Buffer) => {
      this.log += text;
    });
    const answer = this.#nextAnswer();
    if (child.stdout !== null) {
      createInterface({ input: child.stdout }).on("line", (line) => this.#waiting.shift()?.(JSON.parse(line)));
    }
    child.once("close", () => {
      for (const waiting of this.#waiting.splice(0))
        waiting({ state: "failed", message: `the agent ended: ${this.log}` });
    });
    const started = await answer;
    if (started.publicKey === undefined) throw new Error(started.message);
    this.publicKey = started.publicKey;
    return started;
  }

  /** Ends the agent like a power failure. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    const closed = new Promise((resolve) => child.once("close", resolve));
    child.kill("SIGKILL");
    await closed;
  }

  apply(configuration: unknown): Promise<AgentAnswer> {
    return this.#order({ apply: configuration });
  }

  report(): Promise<AgentAnswer> {
    return this.#order({ report: true });
  }

  #order(order: object): Promise<AgentAnswer> {
    const answer = this.#nextAnswer();
    this.#child?.stdin?.write(`${JSON.stringify(order)}\n`);
    return answer;
  }

  #nextAnswer(): Promise<AgentAnswer> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}

export class EnforcementWorld {
  readonly namespaces = new Namespaces();
  readonly gateways: Gateway[] = [];
  readonly devices: Device[] = [];
  readonly #folder = mkdtempSync(path.join(tmpdir(), "gatehouse-enforcement-"));
  readonly #signer = new ConfigurationSigner();

  async build(): Promise<void> {
    const { namespaces } = this;
    const wide = namespaces.addNetwork("public");
    const site = namespaces.addNetwork("site");
    const probers: Promise<unknown>[] = [];
    for (const [index, role] of (["one", "two"] as const).entries()) {
      const namespace = namespaces.add(`gateway-${role}`);
      const host = index + 1;
      namespaces.connect(namespace, wide, "wide", [
        `${publicNetwork.ipv4}.${host}/24`,
        `${publicNetwork.ipv6}::${host}/64`,
      ]);
      namespaces.connect(namespace, site, "site", [`${siteNetwork.ipv4}.${host}/24`, `${siteNetwork.ipv6}:${host}/64`]);
      namespace.run("ip", ["route", "add", "203.0.113.0/24", "dev", "wide"]);
      namespace.run("ip", ["-6", "route", "add", "2001:db8:113::/64", "dev", "wide"]);
      this.addGateway(role, host, namespace);
    }
    const agents = this.gateways.map((gateway) => gateway.start());
    for (const [role, target] of Object.entries({ app, files, names })) {
      const namespace = namespaces.add(role);
      namespaces.connect(namespace, site, "site", [`${target.ipv4}/24`, `${target.ipv6}/64`]);
      probers.push(serve(namespace, target, role === "names"));
    }
    const outside = namespaces.add("internet");
    namespaces.connect(outside, wide, "wide", [`${internet.ipv4}/24`, `${internet.ipv6}/64`]);
    outside.run("ip", ["route", "add", "192.0.2.0/24", "dev", "wide"]);
    outside.run("ip", ["-6", "route", "add", "2001:db8:2::/64", "dev", "wide"]);
    probers.push(serve(outside, internet, false));
    await Promise.all(agents);
    for (const number of [1, 2, 3]) this.devices.push(await this.#addDevice(number, wide));
    await Promise.all([...probers, ...this.devices.map(({ prober }) => prober.ready)]);
  }

  /** Adds a gateway whose agent has not started yet. @param host the last part of its addresses in the tunnel */
  addGateway(role: string, host: number, namespace: Namespace): Gateway {
    const gateway = new Gateway({
      namespace,
      interfaceName: `gh${host}${this.namespaces.id}`,
      stateFolder: path.join(this.#folder, role),
      runtimeFolder: path.join(this.#folder, "run"),
      addresses: { ipv4: `100.64.255.${host}`, ipv6: `fd64::ff:${host}` },
      signingKey: this.#signer.signingKey,
    });
    this.gateways.push(gateway);
    return gateway;
  }

  remove(): void {
    this.namespaces.remove();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** @param changes of the header, like those of a control plane */
  signed(
    content: ConfigurationContent,
    gateway: Gateway,
    changes: Partial<ConfigurationHeader> = {},
  ): SignedConfiguration {
    return this.#signer.signed(gateway.id, content, changes);
  }

  /** A configuration without access. */
  base(gateway: Gateway): ConfigurationContent {
    return {
      settings: {
        interface: { listenPort, ...gateway.addresses, pools: ["100.64.0.0/10", "fd64::/64"] },
        dns: { resolvers: [names.ipv4], domains: [] },
      },
      peers: Object.fromEntries(
        this.devices.map(({ ipv4, ipv6, publicKey }) => [ipv4, { kind: "device" as const, publicKey, ipv6 }]),
      ),
      classes: {},
      resources: {},
      destinations: {},
    };
  }

  async #addDevice(number: number, wide: Namespace): Promise<Device> {
    const namespace = this.namespaces.add(`device-${number}`);
    const address = 10 + number;
    this.namespaces.connect(namespace, wide, "wide", [
      `${publicNetwork.ipv4}.${address}/24`,
      `${publicNetwork.ipv6}::${address}/64`,
    ]);
    const own = { ipv4: `100.64.0.${number}`, ipv6: `fd64::${number}` };
    const interfaceName = `d${number}${this.namespaces.id}`;
    namespace.start("wireguard-go", ["--foreground", interfaceName], {
      PATH: process.env.PATH,
      WG_PROCESS_FOREGROUND: "1",
    });
    await until("wireguard-go serves", () => existsSync(`/var/run/wireguard/${interfaceName}.sock`));
    const privateKey = namespace.run("wg", ["genkey"]).trim();
    const publicKey = namespace.run("wg", ["pubkey"], privateKey).trim();
    const keyFile = path.join(this.#folder, `${interfaceName}.key`);
    writeFileSync(keyFile, privateKey, { mode: 0o600 });
    // The third device uses the second gateway.
    const host = number === 3 ? 2 : 1;
    const gateway = this.gateways[host - 1];
    if (gateway === undefined) throw new Error("devices come after gateways");
    namespace.run("wg", ["set", interfaceName, "private-key", keyFile]);
    for (const address of [`${own.ipv4}/32`, `${own.ipv6}/128`]) {
      namespace.run("ip", ["address", "add", address, "dev", interfaceName]);
    }
    namespace.run("ip", ["link", "set", interfaceName, "mtu", "1420", "up"]);
    for (const block of tunnelled) namespace.run("ip", ["route", "add", block, "dev", interfaceName]);
    const reconnect = () => {
      namespace.run("wg", ["set", interfaceName, "peer", gateway.publicKey, "remove"]);
      useGateway({ namespace, interfaceName }, gateway, host);
    };
    reconnect();
    return { ...own, publicKey, namespace, interfaceName, prober: new Prober(namespace), reconnect };
  }
}

/** Sets the gateway as the device's only peer. */
function useGateway(device: { namespace: Namespace; interfaceName: string }, gateway: Gateway, host: number): void {
  const peer = ["peer", gateway.publicKey, "endpoint", `${publicNetwork.ipv4}.${host}:${listenPort}`];
  device.namespace.run("wg", ["set", device.interfaceName, ...peer, "allowed-ips", tunnelled.join(",")]);
}

async function serve(namespace: Namespace, target: typeof app, isResolver: boolean): Promise<void> {
  const prober = new Prober(namespace);
  await prober.ready;
  const hosts = [target.ipv4, target.ipv6];
  for (const port of Object.values(ports)) await prober.ask("echo", { port, hosts });
  if (!isResolver) return;
  const records = {
    "app.example.com": { A: [app.ipv4], AAAA: [app.ipv6] },
    "files.internal.example.com": { A: [files.ipv4], AAAA: [files.ipv6] },
    "other.example.com": { A: [names.ipv4] },
  };
  await prober.ask("serveNames", { host: target.ipv4, records });
}
