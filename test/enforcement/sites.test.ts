/**
 * Traffic between two sites, each with a gateway and with machines that are unaware of Gatehouse:
 *
 *     office  10.80.0.11  fd80::11 ─┐                                          ┌─ app   10.81.0.11  fd81::11
 *     printer 10.80.0.12  fd80::12 ─┴─ gateway north ─ public ─ gateway south ─┴─ files 10.81.0.12  fd81::12
 *
 * The policy engine creates the configurations from administrators' settings.
 */

import { contentOf } from "@gatehouse/agent-protocol/gateway/content-tree";
import type { NetworkProtocol } from "@gatehouse/contract/records/protocol";
import type { GatewayLink, LinkFacts } from "@gatehouse/policy/enforcement/links";
import { TenantEnforcement } from "@gatehouse/policy/enforcement/tenant-enforcement";
import type { FactChange, PolicyFacts, ResourceFacts } from "@gatehouse/policy/model/facts";
import { compile, update } from "@gatehouse/policy/model/model";
import { finish } from "@gatehouse/policy/work";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { plainPolicy } from "../../packages/policy/src/testing/plain-policy.ts";
import { until } from "../../packages/server/src/testing/until.ts";
import { EnforcementWorld, type Gateway, listenPort, ports } from "./enforcement-world.ts";
import { type Namespace, obstacle, Prober } from "./namespaces.ts";

const why = obstacle();
if (why !== undefined) console.warn(`Traffic between sites is not tested on real packets: ${why}.`);

const office = { ipv4: "10.80.0.11", ipv6: "fd80::11" };
const printer = { ipv4: "10.80.0.12", ipv6: "fd80::12" };
const app = { ipv4: "10.81.0.11", ipv6: "fd81::11" };
const files = { ipv4: "10.81.0.12", ipv6: "fd81::12" };
const networks = { north: ["10.80.0.0/24", "fd80::/64"], south: ["10.81.0.0/24", "fd81::/64"] };

const unrestricted = "0199aaaa-0000-7000-8000-0000000000aa";
const appResource = "0199aaaa-0000-7000-8000-000000000001";
const everyService: readonly NetworkProtocol[] = [
  { protocol: "TCP", port: String(ports.web) },
  { protocol: "UDP", port: String(ports.web) },
  { protocol: "ICMP" },
];

function policy(number: number, sourceIps: readonly string[], more: Partial<PolicyFacts> = {}): PolicyFacts {
  const id = `0199aaaa-0000-7000-8000-0000000001${String(number).padStart(2, "0")}`;
  const fields = { type: "SITETOSITE", resources: [appResource], sourceIps, rule: unrestricted } as const;
  return plainPolicy({ id, name: `Policy ${number}`, ...fields, ...more });
}

const fromOffice = policy(1, [office.ipv4, office.ipv6]);
const fromPrinter = policy(2, [printer.ipv4, printer.ipv6]);

/** The settings of a tenant with two sites, and the configurations of its gateways. */
class Tenant {
  readonly #gateways: readonly [north: Gateway, south: Gateway];
  readonly #world: EnforcementWorld;
  #model;
  readonly #enforcement: TenantEnforcement;

  constructor(
    world: EnforcementWorld,
    gateways: readonly [Gateway, Gateway],
    policies: readonly PolicyFacts[],
    changedLinks: { readonly north?: Partial<GatewayLink>; readonly south?: Partial<GatewayLink> } = {},
  ) {
    this.#world = world;
    this.#gateways = gateways;
    const [north, south] = gateways;
    const resource: ResourceFacts = {
      id: appResource,
      name: "App",
      type: "PRIVATE",
      loadBalancingMode: "MANUAL",
      addresses: [app.ipv4, app.ipv6].map((address) => ({ address, protocols: everyService })),
      gateways: [south.id],
    };
    this.#model = compile({
      users: [],
      groups: [],
      devices: [],
      gateways: gateways.map(({ id }, index) => ({
        id,
        name: `Gateway ${index}`,
        status: "ONLINE",
        load: null,
        roundTripTimeMs: null,
      })),
      resources: [resource],
      rules: [{ id: unrestricted, name: "Admission without restrictions", type: "ALLOW", text: null }],
      policies,
    });
    const links: LinkFacts = {
      pools: ["100.64.0.0/10", "fd64::/64"],
      devices: [],
      gateways: [
        { ...linkOf(north, "192.0.2.1", networks.north), ...changedLinks.north },
        { ...linkOf(south, "192.0.2.2", networks.south), ...changedLinks.south },
      ],
    };
    const validity = { from: Date.now(), until: Date.now() + 3_600_000 };
    this.#enforcement = finish(TenantEnforcement.composing(this.#model, links, validity));
  }

  async enforced(): Promise<this> {
    await this.#tell(this.#gateways.map(({ id }) => id));
    return this;
  }

  /** Sends configurations only to the gateways that the change concerns, like a control plane. */
  async change(changes: readonly FactChange[]): Promise<void> {
    this.#model = update(this.#model, changes);
    await this.#tell(finish(this.#enforcement.updating(this.#model, changes, Date.now())));
  }

  async #tell(ids: readonly string[]): Promise<void> {
    const told = this.#gateways.filter(({ id }) => ids.includes(id));
    const outcomes = await Promise.all(
      told.map((gateway) => {
        const tree = this.#enforcement.contentOf(gateway.id);
        if (tree === undefined) throw new Error("a gateway has nothing to enforce");
        return gateway.apply(this.#world.signed(contentOf(tree), gateway));
      }),
    );
    for (const { state, message = "" } of outcomes) expect(state, message).toBe("applied");
  }
}

function linkOf(gateway: Gateway, host: string, behind: readonly string[]): GatewayLink {
  return {
    gatewayId: gateway.id,
    ...gateway.addresses,
    publicKey: gateway.publicKey,
    listenPort,
    endpoint: `${host}:${listenPort}`,
    relayEnabled: false,
    relayPort: null,
    drain: null,
    dns: { resolvers: [], domains: [] },
    networks: behind,
  };
}

describe.skipIf(why !== undefined)("between two sites", () => {
  const world = new EnforcementWorld();
  let gateways: readonly [Gateway, Gateway];
  const probers: Record<"office" | "printer" | "app" | "files", Prober> = {} as never; // filled in before the first test

  beforeAll(async () => {
    const { namespaces } = world;
    const wide = namespaces.addNetwork("public");
    const north = { site: namespaces.addNetwork("north"), machine: namespaces.add("gateway-north") };
    const south = { site: namespaces.addNetwork("south"), machine: namespaces.add("gateway-south") };
    for (const [index, { site, machine }] of [north, south].entries()) {
      namespaces.connect(machine, wide, "wide", [`192.0.2.${index + 1}/24`]);
      namespaces.connect(machine, site, "site", [`10.8${index}.0.1/24`, `fd8${index}::1/64`]);
    }
    gateways = [world.addGateway("north", 1, north.machine), world.addGateway("south", 2, south.machine)];
    await gateways[0].start();
    await gateways[1].start();
    const machines = { office: [office, north.site], printer: [printer, north.site], app: [app, south.site] } as const;
    for (const [role, [own, site]] of Object.entries({ ...machines, files: [files, south.site] as const })) {
      probers[role as keyof typeof probers] = await machineAt(role, own, site); // one of them
    }
  });
  afterAll(() => world.remove());

  async function machineAt(role: string, own: typeof app, site: Namespace): Promise<Prober> {
    const namespace = world.namespaces.add(role);
    world.namespaces.connect(namespace, site, "site", [`${own.ipv4}/24`, `${own.ipv6}/64`]);
    namespace.run("ip", ["route", "add", "default", "via", `${own.ipv4.slice(0, own.ipv4.lastIndexOf("."))}.1`]);
    namespace.run("ip", ["-6", "route", "add", "default", "via", `${own.ipv6.slice(0, own.ipv6.indexOf(":"))}::1`]);
    const prober = new Prober(namespace);
    await prober.ready;
    for (const port of Object.values(ports)) await prober.ask("echo", { port, hosts: [own.ipv4, own.ipv6] });
    return prober;
  }

  type Probe = readonly [order: string, host: string, port?: number | undefined];
  const everyWay = (to: typeof app, port = ports.web): readonly Probe[] =>
    [to.ipv4, to.ipv6].flatMap((host) => [
      ["tcp", host, port] as const,
      ["udp", host, port] as const,
      ["ping", host, undefined] as const,
    ]);

  /** Returns the probes that are answered. */
  async function answered(from: keyof typeof probers, probes: readonly Probe[]): Promise<readonly Probe[]> {
    const results = await Promise.all(probes.map(([order, host, port]) => probers[from].ask(order, { host, port })));
    return probes.filter((_probe, index) => results[index]);
  }

  const answers = (host: string) => answered("office", [["tcp", host, ports.web]]).then((found) => found.length > 0);
  const isThere = () => answers(app.ipv4);
  const says = (from: keyof typeof probers, stream: string) =>
    probers[from].ask("say", { stream, text: `still here? ${Math.random()}` });

  let tenant: Tenant;
  beforeEach(async () => {
    tenant = await new Tenant(world, gateways, [fromOffice]).enforced();
    await until("the sites have met", isThere);
  });

  test("only traffic that a policy allows passes, over TCP, UDP and ICMP, IPv4 and IPv6", async () => {
    // Over IPv6, new networks refuse connections for some seconds.
    await until("the sites have met over IPv6", () => answers(app.ipv6));
    expect(await answered("office", everyWay(app))).toEqual(everyWay(app));
    expect(await answered("printer", everyWay(app))).toEqual([]);
    const otherPort = [app.ipv4, app.ipv6].map((host) => ["tcp", host, ports.admin] as const);
    expect(await answered("office", [...otherPort, ...everyWay(files)])).toEqual([]);
    // Answers return, but connections from the other side are denied.
    expect(await answered("app", everyWay(office))).toEqual([]);
    const gatewayItself = [gateways[1].addresses, { ipv4: "10.81.0.1", ipv6: "fd81::1" }];
    expect(
      await answered(
        "office",
        gatewayItself.flatMap((to) => everyWay(to)),
      ),
    ).toEqual([]);
  });

  test("deleting a policy cuts the running connections that it allowed, and no others", async () => {
    await tenant.change([{ kind: "policy", facts: fromPrinter }]);
    for (const from of ["office", "printer"] as const) {
      for (const [stream, host] of [
        ["v4", app.ipv4],
        ["v6", app.ipv6],
      ] as const) {
        expect(await probers[from].ask("open", { stream, host, port: ports.web })).toBe(true);
        expect(await says(from, stream)).toBe(true);
      }
    }
    await tenant.change([{ kind: "policy", gone: fromOffice.id }]);
    expect(await Promise.all([says("office", "v4"), says("office", "v6")])).toEqual([false, false]);
    expect(await Promise.all([says("printer", "v4"), says("printer", "v6")])).toEqual([true, true]);
    await tenant.change([{ kind: "policy", gone: fromPrinter.id }]);
    expect(await Promise.all([says("printer", "v4"), says("printer", "v6")])).toEqual([false, false]);
    expect(gateways[0].namespace.run("wg", ["show", gateways[0].interfaceName, "peers"])).toBe("");
  });

  test("the first policy about the source decides", async () => {
    const denied = policy(3, [printer.ipv4, printer.ipv6], { action: false });
    const anybody = policy(4, []);
    await new Tenant(world, gateways, [denied, anybody]).enforced();
    await until("the sites have met", isThere);
    expect(await answered("office", everyWay(app))).toEqual(everyWay(app));
    expect(await answered("printer", everyWay(app))).toEqual([]);
    await new Tenant(world, gateways, [anybody, denied]).enforced();
    expect(await answered("printer", everyWay(app))).toEqual(everyWay(app));
  });

  test("a site without a known endpoint initiates the connection", async () => {
    await new Tenant(world, gateways, [fromOffice], { north: { endpoint: null } }).enforced();
    await until("the sites have met", isThere);
    expect(await answered("office", everyWay(app))).toEqual(everyWay(app));
  });

  test("a network that is configured at another site is not carried, even if the policy allows it", async () => {
    await new Tenant(world, gateways, [policy(5, [])], { north: { networks: ["10.80.0.8/30"] } }).enforced();
    await until("the sites have met", isThere);
    expect(await answered("printer", [["tcp", app.ipv4, ports.web]])).toEqual([]);
    expect(await answered("office", [["tcp", app.ipv6, ports.web]])).toEqual([]);
  });
});
