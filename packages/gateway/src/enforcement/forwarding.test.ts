import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Forwarding } from "./forwarding.ts";

let folder: string;
let switches: readonly [ipv4: string, ipv6: string];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "gatehouse-forwarding-"));
  switches = [join(folder, "ipv4"), join(folder, "ipv6")];
  await set("0", "0");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function set(ipv4: string, ipv6: string): Promise<void> {
  await writeFile(switches[0], `${ipv4}\n`);
  await writeFile(switches[1], `${ipv6}\n`);
}

const values = async () => (await Promise.all(switches.map((path) => readFile(path, "utf8")))).map(Number);

test("enables forwarding, and reports only what another program disabled", async () => {
  const forwarding = new Forwarding(switches);
  expect(await forwarding.enable()).toBe(false);
  expect(await values()).toEqual([1, 1]);
  expect(await forwarding.enable()).toBe(false);
  await set("1", "0");
  expect(await forwarding.enable()).toBe(true);
  expect(await values()).toEqual([1, 1]);
  // 2 accepts router advertisements although forwarding is enabled.
  await set("1", "2");
  expect(await forwarding.enable()).toBe(false);
  expect(await values()).toEqual([1, 2]);
});

test("names the setting that cannot be read or written", async () => {
  await expect(new Forwarding([join(folder, "missing")]).enable()).rejects.toThrow("missing");
});
