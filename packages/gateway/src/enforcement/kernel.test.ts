/** Repairs of the interface on a machine that only records commands. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
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
import { Kernel, type TunnelPart } from "./kernel.ts";

let folder: string;
let file: string;
/** The interface of the machine. It never has addresses, routes or peers that differ. */
const live = { key: "(none)", port: "0" };
let takenPort: string | undefined;
let kernel: Kernel;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "gatehouse-kernel-"));
  file = join(folder, "wireguard.key");
  await writeFile(join(folder, "forwarding"), "0");
  takenPort = undefined;
  const programs: ProgramRunner = {
    read: async (program) => (program === "wg" ? `(none)\t${live.key}\t${live.port}\toff\n` : ""),
    change: async (program, args) => {
      if (args.includes("private-key")) live.key = await publicKeyOf(file);
      if (!args.includes("listen-port")) return;
      if (args[3] === takenPort) throw new ProgramFailure(program, args, "Address already in use");
      live.port = args[3] ?? "";
    },
    start: () => Promise.reject(new Error("nothing is to be started")),
  };
  const own = await publicKeyOf(file);
  live.key = own;
  const forwarding = new Forwarding([join(folder, "forwarding")]);
  const hosts = new EndpointHosts(new HostResolver(new StoppedClock()));
  kernel = new Kernel(new WireGuardInterface("gh0", programs, file), programs, hosts, forwarding);
  await kernel.forward();
  await kernel.tunnel(content());
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Returns the repaired settings. The machine has no addresses, so the agent sets them each time. */
async function repaired(): Promise<readonly TunnelPart[]> {
  const parts: TunnelPart[] = [];
  for await (const part of kernel.repairTunnel(content())) parts.push(part);
  return parts.filter((part) => !["peers", "addresses", "routes"].includes(part));
}

test("restores the key, the port and forwarding, and reports each", async () => {
  expect(await repaired()).toEqual([]);
  const intended = { ...live };
  Object.assign(live, { key: "another", port: "51999" });
  await writeFile(join(folder, "forwarding"), "0");
  expect(await repaired()).toEqual(["forwarding", "private key", "listen port"]);
  expect(live).toEqual(intended);
  expect(await repaired()).toEqual([]);
});

test("restores the key even if the port is taken", async () => {
  const { key, port } = live;
  Object.assign(live, { key: "another", port: "51999" });
  takenPort = port;
  await expect(repaired()).rejects.toThrow("Address already in use");
  expect(live.key).toBe(key);
});
