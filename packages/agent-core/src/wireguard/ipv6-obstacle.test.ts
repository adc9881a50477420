import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ipv6Obstacle } from "./ipv6-obstacle.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "gatehouse-ipv6-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function obstacleWith(values: Readonly<Record<string, number>>): Promise<string | undefined> {
  for (const [which, value] of Object.entries(values)) {
    await mkdir(join(root, "net/ipv6/conf", which), { recursive: true });
    await writeFile(join(root, "net/ipv6/conf", which, "disable_ipv6"), `${value}\n`);
  }
  return ipv6Obstacle("gh0", root);
}

test.each([
  [{ all: 0, default: 0 }],
  // The interface exists, so that the value of new interfaces no longer applies.
  [{ all: 0, default: 1, gh0: 0 }],
  // The kernel copies the value of all interfaces to each one when it is written, and does not read it again.
  [{ all: 1, default: 0, gh0: 0 }],
  [{ all: 1, default: 1, gh0: 0 }],
  [{ all: 1, default: 0 }],
])("an interface can have IPv6 addresses with %j", async (values) => {
  expect(await obstacleWith(values)).toBeUndefined();
});

test.each([
  [{ all: 1, default: 1, gh0: 1 }, "net.ipv6.conf.all.disable_ipv6=0 net.ipv6.conf.gh0.disable_ipv6=0"],
  [{ all: 1, default: 1 }, "net.ipv6.conf.all.disable_ipv6=0 net.ipv6.conf.default.disable_ipv6=0"],
  [{ all: 0, default: 0, gh0: 1 }, "net.ipv6.conf.gh0.disable_ipv6=0"],
  [{ all: 0, default: 1 }, "net.ipv6.conf.default.disable_ipv6=0"],
])("the settings to change are named with %j", async (values, commands) => {
  expect(await obstacleWith(values)).toBe(`IPv6 is disabled on this machine. To enable it, run: sysctl -w ${commands}`);
});

test("a kernel without IPv6 is named", async () => {
  expect(await obstacleWith({})).toBe("The kernel of this machine does not support IPv6.");
});
