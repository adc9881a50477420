/**
 * A device whose /etc/resolv.conf other programs replace while the agent runs: DHCP clients rename a new file, and
 * people write into the existing one. The network has two resolvers with different answers.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { askCheck } from "../../packages/device/src/status/ask-agent.ts";
import { DeviceWorld, localAddresses as local, ports, site } from "./device-world.ts";
import { obstacle, Prober } from "./namespaces.ts";

const why = obstacle();
if (why !== undefined) console.warn(`Replaced resolvers are not tested on real packets: ${why}.`);

const agentDns = "127.0.0.153";
const outside = "host.example.org";
const inside = "files.internal.example.com";
const answers = { [local.resolver]: "203.0.113.53", [local["second-resolver"]]: "203.0.113.54" };

describe.skipIf(why !== undefined)("a device whose resolv.conf is replaced", () => {
  const world = new DeviceWorld();
  const etc = path.join(world.folder, "etc");
  const file = path.join(etc, "resolv.conf");

  beforeAll(async () => {
    mkdirSync(etc);
    execFileSync("cp", ["-a", "/etc/.", etc]);
    rename([agentDns, local.resolver]);
    await world.build();
    const network = world.namespaces.add("network");
    const hosts = Object.keys(answers);
    world.namespaces.connect(
      network,
      world.network,
      "wide",
      hosts.map((host) => `${host}/24`),
    );
    const prober = new Prober(network);
    await prober.ready;
    for (const [host, answer] of Object.entries(answers)) {
      await prober.ask("serveNames", { host, records: { [outside]: { A: [answer] } } });
    }
    await world.startControlPlane();
    world.startAgent({ etc });
    await world.linked();
    const content = world.content([{ allowedIps: [`${site.files}/32`], names: [inside] }, {}]);
    expect(await world.configure(content), world.log).toMatchObject({ type: "applied" });
    const resource = {
      id: world.device,
      name: "Files",
      addresses: [{ address: inside, tcp: [`${ports.one}-${ports.one}`] }],
    };
    await world.answer({ outcome: "reachable", resource, reasons: [] });
  });
  afterAll(() => world.remove());

  const textOf = (resolvers: readonly string[]) => resolvers.map((resolver) => `nameserver ${resolver}\n`).join("");

  /** Replaces the file like a DHCP client. */
  function rename(resolvers: readonly string[]): void {
    writeFileSync(`${file}.new`, textOf(resolvers));
    renameSync(`${file}.new`, file);
  }

  function writeInPlace(resolvers: readonly string[]): void {
    writeFileSync(file, textOf(resolvers));
  }

  /** Replaces the file with a link, like programs that manage resolvers. */
  function link(resolvers: readonly string[]): void {
    writeFileSync(path.join(etc, "resolv.conf.managed"), textOf(resolvers));
    unlinkSync(file);
    symlinkSync("resolv.conf.managed", file);
  }

  const resolve = (name: string) => world.prober.ask<unknown>("resolve", { server: agentDns, name, type: "A" });

  async function dnsStep() {
    const reply = await askCheck(world.stateFolder, inside, ports.one);
    if (reply.kind !== "answer") throw new Error(`the agent did not answer: ${reply.kind} ${world.log}`);
    return reply.answer.steps.find(({ step }) => step === "dns");
  }

  test("is in order while the agent is the first resolver", async () => {
    expect(await resolve(outside)).toEqual([answers[local.resolver]]);
    expect(await resolve(inside)).toEqual([site.files]);
    expect(await dnsStep()).toMatchObject({ state: "ok" });
  });

  test.each([
    ["by a renamed file", rename, local["second-resolver"]],
    ["in place", writeInPlace, local.resolver],
    ["by a link", link, local["second-resolver"]],
  ])("%s: the agent asks the new resolver, and the check names the missing line until it is back", async (...row) => {
    const [, replace, resolver] = row;
    replace([resolver]);
    expect(await resolve(outside)).toEqual([answers[resolver]]);
    expect(await resolve(inside)).toEqual([site.files]);
    expect(await dnsStep()).toMatchObject({
      state: "broken",
      text: expect.stringContaining("do not ask the agent"),
      remedy: expect.stringContaining(`Add "nameserver ${agentDns}" as the first line of /etc/resolv.conf`),
    });
    // The agent does not write the file, which belongs to other programs.
    expect(readFileSync(file, "utf8")).toBe(textOf([resolver]));
    replace([agentDns]);
    expect(await dnsStep()).toMatchObject({ state: "ok" });
    // The agent remembers the resolver that it replaces.
    expect(await resolve(outside)).toEqual([answers[resolver]]);
  });
});
