import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Forwarding } from "./forwarding.ts";

let root: string;
let switches: readonly [ipv4: string, ipv6: string];
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "gatehouse-forwarding-"));
  switches = [join(root, "net/ipv4/conf/all/forwarding"), join(root, "net/ipv6/conf/all/forwarding")];
  for (const path of switches) await mkdir(dirname(path), { recursive: true });
  await set("0", "0");
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function set(ipv4: string, ipv6: string): Promise<void> {
  await writeFile(switches[0], `${ipv4}\n`);
  await writeFile(switches[1], `${ipv6}\n`);
}

const values = async () => (await Promise.all(switches.map((path) => readFile(path, "utf8")))).map(Number);

test("enables forwarding, and reports only what another program disabled", async () => {
  const forwarding = new Forwarding("gh0", root);
  expect(await forwarding.enable(true)).toEqual({ isRestored: false });
  expect(await values()).toEqual([1, 1]);
  expect(await forwarding.enable(true)).toEqual({ isRestored: false });
  await set("1", "0");
  expect(await forwarding.enable(true)).toEqual({ isRestored: true });
  expect(await values()).toEqual([1, 1]);
});

test("does not change a value that enables forwarding", async () => {
  const forwarding = new Forwarding("gh0", root);
  await forwarding.enable(true);
  await set("1", "2");
  expect(await forwarding.enable(true)).toEqual({ isRestored: false });
  expect(await values()).toEqual([1, 2]);
});

/** A machine on which only some settings can be written, like a service with ProtectKernelTunables. */
function machineThatRefuses(refuses: (path: string) => boolean): Forwarding {
  return new Forwarding("gh0", root, async (path, text) => {
    if (refuses(path)) throw new Error(`EROFS: read-only file system, open '${path}'`);
    await writeFile(path, text);
  });
}

test("restores the other setting if one cannot be written, and reports both", async () => {
  for (const [refused, other] of [
    ["ipv4", "ipv6"],
    ["ipv6", "ipv4"],
  ] as const) {
    const forwarding = machineThatRefuses((path) => path.includes(refused));
    await set("1", "1");
    await forwarding.enable(true);
    await set("0", "0");
    const { isRestored, problem } = await forwarding.enable(true);
    expect(isRestored, other).toBe(true);
    expect(problem).toContain("Forwarding is disabled, and the agent cannot enable it (EROFS: read-only file system");
    expect(problem).toContain(`sysctl -w net.${refused}.conf.all.forwarding=1`);
    expect(problem).not.toContain(`net.${other}.conf.all.forwarding=1`);
    expect(await values()).toEqual(refused === "ipv4" ? [0, 1] : [1, 0]);
  }
});

test("names all settings that cannot be written, until a person has enabled them", async () => {
  const forwarding = machineThatRefuses(() => true);
  await set("1", "1");
  await forwarding.enable(true);
  await set("0", "0");
  for (let count = 0; count < 2; count += 1) {
    const { isRestored, problem } = await forwarding.enable(true);
    expect(isRestored).toBe(false);
    expect(problem).toMatch(/sysctl -w net.ipv4.conf.all.forwarding=1 net.ipv6.conf.all.forwarding=1$/);
  }
  await set("1", "1");
  expect(await forwarding.enable(true)).toEqual({ isRestored: false });
});

test("names a setting that cannot be read, and enables the other one", async () => {
  await rm(switches[0]);
  const { problem } = await new Forwarding("gh0", root).enable(true);
  expect(problem).toContain("net.ipv4.conf.all.forwarding cannot be read (ENOENT");
  expect(await readFile(switches[1], "utf8")).toBe("1");
});

test("leaves the setting of IPv6 alone on a machine without IPv6", async () => {
  await rm(switches[1]);
  expect(await new Forwarding("gh0", root).enable(false)).toEqual({ isRestored: false });
  expect(await readFile(switches[0], "utf8")).toBe("1");
});

test("enables forwarding from the tunnel, if the interface exists", async () => {
  const own = join(root, "net/ipv4/conf/gh0/forwarding");
  const forwarding = machineThatRefuses(() => false);
  await forwarding.enable(true);
  await mkdir(dirname(own), { recursive: true });
  await writeFile(own, "0\n");
  expect(await forwarding.enable(true)).toEqual({ isRestored: false });
  expect(await readFile(own, "utf8")).toBe("1");
  await writeFile(own, "0\n");
  expect(await forwarding.enable(true)).toEqual({ isRestored: true });
  expect(await readFile(own, "utf8")).toBe("1");
  await writeFile(own, "0\n");
  const { isRestored, problem } = await machineThatRefuses((path) => path === own).enable(true);
  expect(isRestored).toBe(false);
  expect(problem).toMatch(/the agent cannot enable it .*sysctl -w net.ipv4.conf.gh0.forwarding=1$/);
});
