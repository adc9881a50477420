/**
 * A complete installation on a separate network: two replicas of the server over one database, two gateways of one
 * site, three devices, four targets, and an administrator, each on a separate machine:
 *
 *     ann, bob, eve ─┐                     ┌─ app   10.80.0.11  fd80::11
 *     replica1…2 ────┤ public ─ gateway1…2 ─ site ─┼─ files 10.80.0.12  fd80::12
 *     administrator ─┤                     └─ names 10.80.0.13  fd80::13
 *     internet ──────┘
 *
 * All machines run the real programs: `gatehouse serve`, `gatehouse-gateway`, `gatehouse device`. A test makes all its
 * changes through the API.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { inject } from "vitest";
import type { Connection } from "../../packages/server/src/platform/db/database.ts";
import { generateToken, tokenPrefixes } from "../../packages/server/src/platform/secrets/tokens.ts";
import { createDatabase } from "../../packages/server/src/testing/test-database.ts";
import { until } from "../../packages/server/src/testing/until.ts";
import { Administrator } from "./administrator.ts";
import { type Namespace, Namespaces, obstacle, Prober } from "./namespaces.ts";
import { NetworkDevice } from "./network-device.ts";
import { ManagedProgram } from "./programs.ts";
import { app, files, internet, names, ports } from "./targets.ts";
import { via } from "./traffic.ts";

const apiPort = 8080;
const wireguardPort = "51820";
/** The time limit for building if other tests keep the machine busy, in milliseconds. */
export const buildMs = 240_000;

/** The reason why this world cannot be built here; undefined: it can. */
export function networkObstacle(): string | undefined {
  const { connectionString } = inject("server");
  if (connectionString !== undefined && !isSocket(connectionString)) {
    return "GATEHOUSE_TEST_DATABASE_URL is a TCP address, which machines in network namespaces do not reach: name a socket's folder with ?host=";
  }
  return obstacle();
}

function isSocket(connectionString: string): boolean {
  const { hostname, searchParams } = new URL(connectionString);
  return (searchParams.get("host") ?? decodeURIComponent(hostname)).startsWith("/");
}

export interface NetworkGateway {
  readonly id: string;
  /** The source address that targets see for connections through the gateway. */
  readonly site: typeof app;
  readonly namespace: Namespace;
  readonly agent: ManagedProgram;
  readonly interfaceName: string;
  readonly stateFolder: string;
}

export class NetworkWorld {
  readonly namespaces = new Namespaces();
  readonly folder = mkdtempSync(path.join(tmpdir(), "gatehouse-network-"));
  readonly replicas: ManagedProgram[] = [];
  readonly #replicaNamespaces: Namespace[] = [];
  readonly gateways: NetworkGateway[] = [];
  /** Devices of three people: Ann and Bob are staff, Eve is a visitor. */
  readonly devices: NetworkDevice[] = [];
  readonly users: { readonly id: string }[] = [];
  readonly groups = { staff: "", visitors: "" };
  readonly resources = { app: "", files: "", names: "" };
  readonly policies = { staff: "" };
  readonly #apiKey = generateToken(tokenPrefixes.apiKey);
  #wide: Namespace | undefined;
  #administrator: Administrator | undefined;
  #database: { readonly connection: Connection; drop(): Promise<void> } | undefined;

  /**
   * @param settings of the server, by their environment variables
   * @throws Error with the output of the programs
   */
  async build(settings: Readonly<Record<string, string>> = {}): Promise<void> {
    try {
      await this.#build(settings);
    } catch (error) {
      throw new Error(`The network was not built. ${String(error)}\n${this.output}`, { cause: error });
    }
  }

  async #build(settings: Readonly<Record<string, string>>): Promise<void> {
    const wide = this.namespaces.addNetwork("public");
    this.#wide = wide;
    const site = this.namespaces.addNetwork("site");
    const serving = [
      ...Object.entries({ app, files, names }).map(([role, target]) => this.#serve(role, target, site)),
      this.#serve("internet", internet, wide),
    ];
    await this.#startReplicas(wide, { ...settings, GATEHOUSE_BOOTSTRAP_API_KEY: this.#apiKey });
    const desk = this.namespaces.add("administrator");
    this.namespaces.connect(desk, wide, "wide", ["192.0.2.100/24"]);
    this.#administrator = new Administrator(new Prober(desk), this.#apiKey, replicaUrl);
    await this.administrator.ready();
    await this.#makeRecords();
    await Promise.all([this.#startGateways(wide, site), this.#startDevices(wide), ...serving]);
    await this.#untilGatewaysServe();
    await Promise.all(
      // Only devices of staff, because a visitor's device can reach nothing.
      this.devices
        .slice(0, 2)
        .map((device) => until("a device is connected", async () => (await via(device, app.ipv4)) !== null, 60_000)),
    );
  }

  /** The database of the replicas, for facts that a test cannot wait for. */
  get database(): Connection {
    if (this.#database === undefined) throw new Error("the world is not built yet");
    return this.#database.connection;
  }

  async #untilGatewaysServe(): Promise<void> {
    await Promise.all(
      this.gateways.map(({ id }) =>
        until("both gateways serve", async () => (await this.administrator.gateway(id)).status === "ONLINE", 60_000),
      ),
    );
  }

  /** @param number from 1 */
  async startReplica(number: number): Promise<void> {
    const replica = this.replicas[number - 1];
    replica?.start();
    await until("a replica serves", () => replica?.output.includes("http://") === true, 60_000);
  }

  /** Adds a machine on the public network. @param host the last part of its address */
  async addMachine(role: string, host: number): Promise<{ readonly namespace: Namespace; readonly prober: Prober }> {
    if (this.#wide === undefined) throw new Error("the world is not built yet");
    const namespace = this.namespaces.add(role);
    this.namespaces.connect(namespace, this.#wide, "wide", [`192.0.2.${host}/24`, `2001:db8:2::${host}/64`]);
    const prober = new Prober(namespace);
    await prober.ready;
    return { namespace, prober };
  }

  /** The machine of a replica. @param number from 1 */
  replicaNamespace(number: number): Namespace {
    const namespace = this.#replicaNamespaces[number - 1];
    if (namespace === undefined) throw new Error("the world is not built yet");
    return namespace;
  }

  /** Adds a machine that can intercept traffic between agents and the first replica. */
  async addTamperer(): Promise<{ readonly url: string; readonly prober: Prober }> {
    const namespace = this.namespaces.add("tamperer");
    const host = "192.0.2.66";
    if (this.#wide === undefined) throw new Error("the world is not built yet");
    this.namespaces.connect(namespace, this.#wide, "wide", [`${host}/24`]);
    const prober = new Prober(namespace, "tamperer.mjs");
    await prober.ready;
    await prober.ask("listen", { host, port: apiPort, server: replicaUrl(1).replace("http", "ws") });
    return { url: `http://${host}:${apiPort}`, prober };
  }

  /**
   * The arguments of a gateway's agent.
   *
   * @param number from 1
   */
  agentArguments(number: number, url = replicaUrl(number)): readonly string[] {
    return [
      ...["--url", url, "--token-file", path.join(this.folder, `token-${number}`)],
      ...["--interface", this.#interfaceOf(number)],
      ...["--state-folder", path.join(this.folder, `gateway-${number}`)],
      ...["--runtime-folder", path.join(this.folder, "run")],
    ];
  }

  #interfaceOf(number: number): string {
    return `gh${number}${this.namespaces.id}`;
  }

  /** The output of all programs, for a test that fails. */
  get output(): string {
    const programs = [...this.replicas, ...[...this.gateways, ...this.devices].map(({ agent }) => agent)];
    return programs.map(({ output }, index) => `--- ${index}\n${output.slice(-4_000)}`).join("\n");
  }

  get administrator(): Administrator {
    if (this.#administrator === undefined) throw new Error("the world is not built yet");
    return this.#administrator;
  }

  async remove(): Promise<void> {
    this.namespaces.remove();
    await this.#database?.drop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #startReplicas(wide: Namespace, settings: Readonly<Record<string, string>>): Promise<void> {
    this.#database = await createDatabase();
    const environment = {
      ...settings,
      GATEHOUSE_DATABASE_URL: urlOf(this.#database.connection),
      GATEHOUSE_MASTER_KEY: randomBytes(32).toString("base64"),
      GATEHOUSE_LOG_LEVEL: "warn",
      GATEHOUSE_PORT: String(apiPort),
      GATEHOUSE_RATE_LIMIT_PER_MINUTE: "0",
    };
    for (const number of [1, 2]) {
      const namespace = this.namespaces.add(`replica-${number}`);
      this.#replicaNamespaces.push(namespace);
      const host = replicaAddress(number);
      this.namespaces.connect(namespace, wide, "wide", [`${host}/24`]);
      const replica = new ManagedProgram({
        namespace,
        module: "packages/cli/src/main.ts",
        args: ["serve", "--host", host],
        environment,
      });
      this.replicas.push(replica);
      // The first replica creates the tables.
      await this.startReplica(number);
    }
  }

  async #makeRecords(): Promise<void> {
    const { administrator } = this;
    const protocol = async (networkProtocols: object[]): Promise<string> =>
      (await administrator.create("/tenants/protocols", { networkProtocols })).id;
    const tcp = await protocol([ports.web, ports.downloads].map((port) => ({ protocol: "TCP", port: String(port) })));
    const udp = await protocol([{ protocol: "UDP", port: "8000-8100" }]);
    const icmp = (await administrator.list("/tenants/protocols")).find(({ name }) => name === "ICMP")?.id;
    const kinds = { app: [app, tcp], files: [files, udp], names: [names, icmp] } as const;
    for (const number of [1, 2]) {
      const gateway = { name: `Gateway ${number}`, wireguardPort, endpoint: `192.0.2.${number}` };
      const { id, token } = await administrator.create("/tenants/gateways", gateway);
      writeFileSync(path.join(this.folder, `token-${number}`), token, { mode: 0o600 });
      const namespace = this.namespaces.add(`gateway-${number}`);
      this.gateways.push({
        id,
        site: { ipv4: `10.80.0.${number}`, ipv6: `fd80::${number}` },
        namespace,
        interfaceName: this.#interfaceOf(number),
        stateFolder: path.join(this.folder, `gateway-${number}`),
        agent: new ManagedProgram({
          namespace,
          module: "packages/gateway/src/main.ts",
          args: this.agentArguments(number),
        }),
      });
    }
    const inOrder = { loadBalancingMode: "MANUAL", gateways: this.gateways.map(({ id }) => id) };
    for (const [name, [target, protocolId]] of Object.entries(kinds)) {
      const addresses = [target.ipv4, target.ipv6].map((address) => ({ address, protocols: [protocolId] }));
      const { id } = await administrator.create("/tenants/resources", { name, type: "PRIVATE", addresses });
      await administrator.change("POST", `/tenants/resources/${id}/loadBalancing`, inOrder);
      this.resources[name as keyof typeof kinds] = id; // its keys
    }
    for (const name of ["staff", "visitors"] as const) {
      this.groups[name] = (await administrator.create("/tenants/groups", { name })).id;
    }
    for (const [name, group] of [
      ["ann", "staff"],
      ["bob", "staff"],
      ["eve", "visitors"],
    ] as const) {
      const user = { email: `${name}@example.com`, groups: [this.groups[group]] };
      this.users.push(await administrator.create("/tenants/users", user));
    }
    this.policies.staff = (
      await administrator.create("/tenants/policies", {
        name: "Staff",
        type: "PRIVATE",
        action: true,
        groups: [this.groups.staff],
        resources: Object.values(this.resources),
      })
    ).id;
  }

  async #startGateways(wide: Namespace, site: Namespace): Promise<void> {
    for (const [index, { namespace, agent }] of this.gateways.entries()) {
      const host = index + 1;
      this.namespaces.connect(namespace, wide, "wide", [`192.0.2.${host}/24`, `2001:db8:2::${host}/64`]);
      this.namespaces.connect(namespace, site, "site", [`10.80.0.${host}/24`, `fd80::${host}/64`]);
      this.#route(namespace, "wide", internet);
      agent.start();
    }
  }

  /** Restores the power, and with it the administrator's configuration: links, addresses, routes. */
  reconnect({ namespace, site }: NetworkGateway): void {
    const host = site.ipv4.split(".").at(-1);
    for (const link of ["wide", "site"]) namespace.run("ip", ["link", "set", link, "up"]);
    namespace.run("ip", ["address", "add", `2001:db8:2::${host}/64`, "dev", "wide", "nodad"]);
    namespace.run("ip", ["address", "add", `${site.ipv6}/64`, "dev", "site", "nodad"]);
    this.#route(namespace, "wide", internet);
  }

  async #startDevices(wide: Namespace): Promise<void> {
    for (const [index, user] of this.users.entries()) {
      const namespace = this.namespaces.add(`device-${index + 1}`);
      const host = 11 + index;
      this.namespaces.connect(namespace, wide, "wide", [`192.0.2.${host}/24`, `2001:db8:2::${host}/64`]);
      const device = new NetworkDevice({
        namespace,
        interfaceName: `d${index + 1}${this.namespaces.id}`,
        userId: user.id,
        // Eve's device uses the other replica.
        url: replicaUrl(index === 2 ? 2 : 1),
        apiKey: this.#apiKey,
        folder: this.folder,
      });
      this.devices.push(device);
    }
    await Promise.all(this.devices.map((device) => device.enrol()));
  }

  /** Adds routes to neighbours on the public network that have other prefixes. */
  #route(namespace: Namespace, link: string, { ipv4, ipv6 }: typeof app): void {
    namespace.run("ip", ["route", "add", `${ipv4.replace(/\d+$/, "0")}/24`, "dev", link]);
    namespace.run("ip", ["-6", "route", "add", `${ipv6.replace(/[0-9a-f]*$/, "")}/64`, "dev", link]);
  }

  async #serve(role: string, target: typeof app, network: Namespace): Promise<void> {
    const namespace = this.namespaces.add(role);
    this.namespaces.connect(namespace, network, "net", [`${target.ipv4}/24`, `${target.ipv6}/64`]);
    if (target === internet) this.#route(namespace, "net", { ipv4: "192.0.2.0", ipv6: "2001:db8:2::" });
    const prober = new Prober(namespace);
    await prober.ready;
    const hosts = [target.ipv4, target.ipv6];
    for (const port of [ports.web, ports.admin]) await prober.ask("echo", { port, hosts });
    await prober.ask("serveDownloads", { port: ports.downloads, hosts });
  }
}

/** @param number from 1 */
export function replicaAddress(number: number): string {
  return `192.0.2.${100 + number}`;
}

/** @param number from 1 */
export function replicaUrl(number: number): string {
  return `http://${replicaAddress(number)}:${apiPort}`;
}

/** The URL of the tests' PostgreSQL, which listens on a socket that exists in every network namespace. */
function urlOf(connection: Connection): string {
  const { connectionString, host = "", port = 5432, user = "", database = "" } = connection;
  if (connectionString !== undefined) return connectionString;
  return `postgres://${encodeURIComponent(user)}@/${database}?host=${encodeURIComponent(host)}&port=${port}`;
}
