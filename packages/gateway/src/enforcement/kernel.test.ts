/** Repairs of the interface on a machine that only records commands. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HostResolver } from "@gatehouse/agent-core/dns/host-resolver";
import { ProgramFailure, type ProgramRunner } from "@gatehouse/agent-core/system/program-runner";
import { StoppedClock } from "@gatehouse/agent-core/testing/stopped-clock";
import { WireGuardInterface } from "@gatehouse/agent-core/wireguard/wireguard-interface";
import { publicKeyOf } from "@gatehouse/agent-core/wireguard/wireguard-key";
import { afterEach, beforeEach, expect, test } from "vitest";
import { EndpointHosts } from "../names/endpoint-hosts.ts";
import { content } from "../testing/agent-world.ts";
import { Forwarding } from "./forwarding.ts";
import { Kernel } from "./kernel.ts";
import type { PartRepair } from "./tunnel-parts.ts";

let folder: string;
let file: string;
/** The interface of the machine. It never has addresses, routes or peers that differ. */
const live = { exists: true, key: "(none)", port: "0" };
/** Commands that the machine refuses, by a word in them. */
const refused = new Map<string, string>();
let forwards: string;
const flushed: string[] = [];
/** The interface of another gateway agent that has the route to devices. */
let other: string | undefined;
/** Why the machine has no IPv6. */
let obstacle: string | undefined;
let kernel: Kernel;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "gatehouse-kernel-"));
  file = join(folder, "wireguard.key");
  forwards = join(folder, "net/ipv4/conf/all/forwarding");
  for (const family of ["ipv4", "ipv6"]) {
    await mkdir(join(folder, "net", family, "conf/all"), { recursive: true });
    await writeFile(join(folder, "net", family, "conf/all/forwarding"), "0");
  }
  refused.clear();
  obstacle = undefined;
  other = undefined;
  live.exists = true;
  const refuse = (program: string, args: readonly string[]) => {
    for (const [word, why] of refused) if (args.includes(word)) throw new ProgramFailure(program, args, why);
  };
  const programs: ProgramRunner = {
    read: async (program, args) => {
      if (program === "wg" && !live.exists) throw new ProgramFailure(program, args, "No such device");
      if (program === "nft") return `table inet gatehouse-${other}\n`;
      if (args.includes("exact")) return other === undefined ? "" : JSON.stringify([{ dev: other }]);
      if (args.includes("dump")) refuse(program, args);
      if (args.includes("dump")) return `(none)\t${live.key}\t${live.port}\toff\n`;
      return args.includes("public-key") ? `${live.key}\n` : args.includes("listen-port") ? `${live.port}\n` : "";
    },
    change: async (program, args) => {
      refuse(program, args);
      if (program === "conntrack") flushed.push(args.join(" "));
      if (args.includes("add")) Object.assign(live, { exists: true, key: "(none)", port: "0" });
      if (args.includes("private-key")) live.key = await publicKeyOf(file);
      if (args.includes("listen-port")) live.port = args[3] ?? "";
    },
    start: () => Promise.reject(new Error("nothing is to be started")),
  };
  const own = await publicKeyOf(file);
  live.key = own;
  const writeSetting = async (path: string, text: string) => {
    if (refused.has("forwarding")) throw new Error("EROFS: read-only file system");
    await writeFile(path, text);
  };
  const forwarding = new Forwarding("gh0", folder, writeSetting);
  const hosts = new EndpointHosts(new HostResolver(new StoppedClock()));
  kernel = new Kernel(new WireGuardInterface("gh0", programs, file), programs, hosts, forwarding, async () => obstacle);
  await kernel.forward();
  await kernel.tunnel(content());
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Returns the parts that were restored. The machine has no addresses, so the agent sets them each time. */
async function repairs(): Promise<readonly PartRepair[]> {
  const parts: PartRepair[] = [];
  for await (const repair of kernel.repairTunnel(content())) parts.push(repair);
  return parts.filter(({ part }) => !["peers", "addresses", "routes"].includes(part));
}

test("restores the key, the port and forwarding, and reports each", async () => {
  expect(await repairs()).toEqual([]);
  const intended = { ...live };
  Object.assign(live, { key: "another", port: "51999" });
  await writeFile(forwards, "0");
  expect(await repairs()).toEqual([{ part: "private key" }, { part: "listen port" }, { part: "forwarding" }]);
  expect(live).toEqual(intended);
  expect(await repairs()).toEqual([]);
});

test.each([
  ["listen-port", "Address already in use", "listen port"],
  ["private-key", "Operation not permitted", "private key"],
  ["forwarding", "EROFS: read-only file system", "forwarding"],
])("restores and reports the other parts if the machine refuses %s", async (word, why, refusedPart) => {
  Object.assign(live, { key: "another", port: "51999" });
  await writeFile(forwards, "0");
  refused.set(word, why);
  const expected = ["private key", "listen port", "forwarding"].map((part) =>
    part === refusedPart ? { part, problem: expect.stringContaining(why) } : { part },
  );
  expect(await repairs()).toEqual(expected);
  expect(await repairs()).toEqual([{ part: refusedPart, problem: expect.stringContaining(why) }]);
  refused.clear();
  expect(await repairs()).toEqual([{ part: refusedPart }]);
});

test("restores the key, the port and forwarding if the peers cannot be read", async () => {
  Object.assign(live, { key: "another", port: "51999" });
  await writeFile(forwards, "0");
  refused.set("dump", "Interrupted system call");
  expect(await repairs()).toEqual([{ part: "private key" }, { part: "listen port" }, { part: "forwarding" }]);
});

test("creates a removed interface, and reports nothing else", async () => {
  live.exists = false;
  expect(await repairs()).toEqual([{ part: "interface" }]);
  expect(live.port).not.toBe("0");
  live.exists = false;
  refused.set("add", "Operation not supported");
  expect(await repairs()).toEqual([{ part: "interface", problem: expect.stringContaining("Operation not supported") }]);
});

test("reports what was restored when a configuration was applied, once", async () => {
  Object.assign(live, { key: "another", port: "51999" });
  await writeFile(forwards, "0");
  await kernel.forward();
  await kernel.tunnel(content());
  expect(live.key).toBe(await publicKeyOf(file));
  const parts = (await repairs()).map(({ part }) => part).sort();
  expect(parts).toEqual(["forwarding", "listen port", "private key"]);
  expect(await repairs()).toEqual([]);
  live.exists = false;
  await kernel.tunnel(content());
  expect(await repairs()).toEqual([{ part: "interface" }]);
});

test("does not mistake the remains of a refused change for a change by another program", async () => {
  const own = { ...live };
  const other = content();
  refused.set("listen-port", "Address already in use");
  const moved = {
    ...other,
    settings: { ...other.settings, interface: { ...other.settings.interface, listenPort: 1 } },
  };
  live.key = "another";
  await expect(kernel.tunnel(moved)).rejects.toThrow("Address already in use");
  refused.clear();
  await kernel.tunnel(other);
  expect(live).toEqual(own);
  expect(await repairs()).toEqual([]);
});

test("a configuration is refused if forwarding is disabled and cannot be enabled", async () => {
  await writeFile(forwards, "0");
  refused.set("forwarding", "");
  await expect(kernel.forward()).rejects.toThrow("sysctl -w net.ipv4.conf.all.forwarding=1");
});

test("needs only IPv4 on a machine without IPv6, and reports that until IPv6 is enabled", async () => {
  refused.set("-6", "RTNETLINK answers: Permission denied");
  await expect(kernel.tunnel(content())).rejects.toThrow("Permission denied");
  obstacle = "IPv6 is disabled on this machine.";
  await rm(join(folder, "net/ipv6"), { recursive: true });
  await kernel.forward();
  await kernel.tunnel(content());
  expect(kernel.hasIpv6).toBe(false);
  const reported = { part: "IPv6", problem: obstacle };
  expect(await repairs()).toEqual([reported]);
  Object.assign(live, { key: "another", port: "51999" });
  await writeFile(forwards, "0");
  const others = ["private key", "listen port", "forwarding"].map((part) => ({ part }));
  expect(await repairs()).toEqual([reported, ...others]);
  expect(await repairs()).toEqual([reported]);
  refused.clear();
  obstacle = undefined;
  await mkdir(join(folder, "net/ipv6/conf/all"), { recursive: true });
  await writeFile(join(folder, "net/ipv6/conf/all/forwarding"), "1");
  expect(await repairs()).toEqual([]);
  expect(kernel.hasIpv6).toBe(true);
});

test("does not take the route to devices from another gateway agent", async () => {
  other = "gh1";
  await expect(kernel.tunnel(content())).rejects.toThrow("the interface gh1 of another gateway agent");
  const parts: PartRepair[] = [];
  for await (const repair of kernel.repairTunnel(content())) parts.push(repair);
  expect(parts.filter(({ part }) => part === "routes")).toEqual([
    { part: "routes", problem: expect.stringContaining("gh1") },
  ]);
});

test("ends the connections of devices", async () => {
  flushed.length = 0;
  await kernel.endConnections();
  expect(flushed).toEqual(["-D -f ipv4 --orig-src 100.64.0.0/10"]);
  refused.set("-D", "0 flow entries have been deleted.");
  await expect(kernel.endConnections()).resolves.toBeUndefined();
  refused.set("-D", "not installed (package conntrack)");
  await expect(kernel.endConnections()).rejects.toThrow("not installed (package conntrack)");
});
