/** DNS answers on real packets: which addresses a resolved name opens, and for whom. */
import type { ConfigurationContent, Destination, Service } from "@gatehouse/agent-protocol/gateway/configuration";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { app, type Device, EnforcementWorld, files, type Gateway, names, ports } from "./enforcement-world.ts";
import { obstacle, Prober } from "./namespaces.ts";

const why = obstacle();
if (why !== undefined) console.warn(`DNS answers are not tested on real packets: ${why}.`);

const [developers, administrators, second] = [1, 2, 3].map((last) => `0199aaaa-0000-7000-8000-00000000000${last}`) as [
  string,
  string,
  string,
];
const resolver = "10.80.1.53";
/** The gateway's address at the site, and one that it gets later. */
const own = { now: "10.80.0.1", later: "10.80.0.201" };
const anyPort: readonly Service[] = [{ protocol: "TCP" }, { protocol: "UDP" }];

describe.skipIf(why !== undefined)("DNS answers on real packets", () => {
  const world = new EnforcementWorld();
  let gateway: Gateway;
  let ann: Device;
  let bob: Device;

  beforeAll(async () => {
    await world.build();
    [gateway] = world.gateways as [Gateway];
    [ann, bob] = world.devices as [Device, Device];
    const machine = world.namespaces.add("resolver");
    gateway.namespace.run("ip", ["link", "add", "bridge", "type", "bridge"]);
    gateway.namespace.run("ip", ["link", "set", "bridge", "up"]);
    world.namespaces.connect(machine, gateway.namespace, "uplink", [`${resolver}/24`]);
    // The gateway's end of the link joins its own bridge, as in other networks of the tests.
    gateway.namespace.run("ip", ["address", "add", "10.80.1.1/24", "dev", "bridge"]);
    const probers = [new Prober(machine), new Prober(gateway.namespace)] as const;
    await Promise.all(probers.map(({ ready }) => ready));
    const records = {
      "app.one.example.com": { A: [app.ipv4] },
      "app.two.example.com": { A: [app.ipv4] },
      "own.exact.example.com": { A: [own.now] },
      "own.dev.example.com": { A: [own.now], AAAA: ["fd80::1", "64:ff9b::a50:1"] },
      "later.dev.example.com": { A: [own.later] },
      "metadata.dev.example.com": { A: ["168.63.129.16"], AAAA: ["fd00:ec2::254", "64:ff9b::a9fe:a9fe"] },
      "resolver.dev.example.com": { A: [resolver] },
      "files.dev.example.com": { A: [files.ipv4] },
      "names.dev.example.com": { A: [names.ipv4] },
    };
    await probers[0].ask("serveNames", { host: resolver, records });
    await probers[0].ask("echo", { port: ports.web, hosts: [resolver] });
    await probers[1].ask("echo", { port: ports.web, hosts: ["0.0.0.0"] });
  });
  afterAll(() => world.remove());

  const at = (resource: string | undefined, services = anyPort): Destination => ({
    services: services.map((service) => ({ ...service, ...(resource === undefined ? {} : { resource }) })),
    otherwise: "drop",
  });
  const only = (device: Device) => ({
    devices: [{ action: "allow" as const, classes: [device === ann ? "group/ann" : "group/bob"] }],
    sites: [],
  });

  async function enforce(
    destinations: ConfigurationContent["destinations"],
    networks?: readonly string[],
  ): Promise<void> {
    const base = world.base(gateway);
    const dns = { resolvers: [resolver], domains: [], ...(networks === undefined ? {} : { networks: [...networks] }) };
    const content: ConfigurationContent = {
      ...base,
      settings: { ...base.settings, dns },
      classes: { "group/ann": { [ann.ipv4]: true }, "group/bob": { [bob.ipv4]: true } },
      resources: { [developers]: only(ann), [administrators]: only(bob), [second]: only(bob) },
      destinations,
    };
    const { state, message = "" } = await gateway.apply(world.signed(content, gateway));
    expect(state, message).toBe("applied");
  }

  const resolve = (device: Device, name: string, type = "A") =>
    device.prober.ask<unknown>("resolve", { server: gateway.addresses.ipv4, name, type });
  const reaches = (device: Device, host: string, port = ports.web) => device.prober.ask("tcp", { host, port });

  test("open neither the gateway itself nor metadata services, for exact names as for wildcards", async () => {
    await enforce({ "own.exact.example.com": at(developers), "*.dev.example.com": at(developers) });
    for (const name of ["own.exact", "own.dev", "metadata.dev"]) {
      expect(await resolve(ann, `${name}.example.com`)).toBe("ENODATA");
    }
    for (const name of ["own.dev", "metadata.dev"])
      expect(await resolve(ann, `${name}.example.com`, "AAAA")).toBe("ENODATA");
    expect(await reaches(ann, own.now)).toBe(false);
    expect(await resolve(ann, "later.dev.example.com")).toEqual([own.later]);
    gateway.namespace.run("ip", ["address", "add", `${own.later}/32`, "dev", "site"]);
    expect(await reaches(ann, own.later)).toBe(false);
    await enforce({ [`${own.now}/32`]: at(developers) });
    expect(await reaches(ann, own.now)).toBe(true);
  });

  test("open resolvers except on their DNS ports", async () => {
    await enforce({ "*.dev.example.com": at(developers) });
    expect(await resolve(ann, "resolver.dev.example.com")).toEqual([resolver]);
    expect(await reaches(ann, resolver)).toBe(true);
    expect(await ann.prober.ask("resolve", { server: resolver, name: "app.one.example.com", type: "A" })).toBe(
      "ETIMEOUT",
    );
    await enforce({ [`${resolver}/32`]: at(developers) });
    expect(await ann.prober.ask("resolve", { server: resolver, name: "app.one.example.com", type: "A" })).toEqual([
      app.ipv4,
    ]);
  });

  test("of wildcards neither open nor close address blocks of other resources", async () => {
    await enforce({ "*.dev.example.com": at(developers), "10.80.0.12/31": at(administrators) });
    expect(await resolve(ann, "files.dev.example.com")).toEqual([files.ipv4]);
    expect(await reaches(ann, files.ipv4)).toBe(false);
    expect(await reaches(bob, files.ipv4)).toBe(true);
    // The name decides about blocks of its own resource.
    await enforce({ "*.dev.example.com": at(developers), "10.80.0.12/31": at(developers, [{ protocol: "ICMP" }]) });
    expect(await resolve(ann, "names.dev.example.com")).toEqual([names.ipv4]);
    expect(await reaches(ann, names.ipv4)).toBe(true);
  });

  test("open addresses within the limit of the name, else within the networks of the gateway", async () => {
    const limited = (answers: Destination["answers"]) => ({
      "*.dev.example.com": { ...at(developers), ...(answers === undefined ? {} : { answers }) },
    });
    await enforce(limited([`${files.ipv4}/32`]), ["10.80.0.0/24"]);
    expect(await resolve(ann, "files.dev.example.com")).toEqual([files.ipv4]);
    expect(await reaches(ann, files.ipv4)).toBe(true);
    expect(await resolve(ann, "names.dev.example.com")).toBe("ENODATA");
    expect(await reaches(ann, names.ipv4)).toBe(false);
    await enforce(limited("networks"), ["10.80.0.0/24"]);
    expect(await resolve(ann, "names.dev.example.com")).toEqual([names.ipv4]);
    expect(await reaches(ann, names.ipv4)).toBe(true);
    // A narrower limit also closes addresses that were resolved before.
    await enforce(limited("networks"), ["10.81.0.0/16"]);
    expect(await reaches(ann, names.ipv4)).toBe(false);
    expect(await reaches(ann, files.ipv4)).toBe(false);
    expect(await resolve(ann, "names.dev.example.com")).toBe("ENODATA");
  });

  test("let several exact names share an address, and an exact name precede wildcards and blocks", async () => {
    const one = { "app.one.example.com": at(developers) };
    await enforce({ ...one, "app.two.example.com": at(second), "10.80.0.0/24": at(administrators) });
    expect(await resolve(bob, "app.two.example.com")).toEqual([app.ipv4]);
    expect(await resolve(ann, "app.one.example.com")).toEqual([app.ipv4]);
    expect(await resolve(bob, "app.one.example.com")).toBe("EREFUSED");
    expect(await reaches(ann, app.ipv4)).toBe(true);
    expect(await reaches(bob, app.ipv4)).toBe(true);
    await enforce({ ...one, "*.two.example.com": at(second) });
    expect(await resolve(bob, "app.two.example.com")).toEqual([app.ipv4]);
    expect(await resolve(ann, "app.one.example.com")).toEqual([app.ipv4]);
    expect(await reaches(ann, app.ipv4)).toBe(true);
    expect(await reaches(bob, app.ipv4)).toBe(false);
  });
});
