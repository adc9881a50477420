import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lockDataFolder } from "./data-folder-lock.ts";

let dataDir: string;
const children = new Set<ChildProcess>();

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "gatehouse-lock-"));
});

afterEach(async () => {
  for (const child of children) child.kill("SIGKILL");
  children.clear();
  await rm(dataDir, { recursive: true, force: true });
});

/** Starts another process with a claim in the folder that does not respond to queries. */
async function spawnSilentHolder(name: string): Promise<ChildProcess> {
  const script = "require('node:net').createServer().listen(process.argv[1], () => console.log('listening'))";
  const child = spawn(process.execPath, ["-e", script, join(dataDir, "lock", name)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.add(child);
  await once(child.stdout, "data");
  return child;
}

test("a locked folder is refused with the holder's process id, and available after the release", async () => {
  const first = await lockDataFolder(dataDir);
  await expect(lockDataFolder(dataDir)).rejects.toThrow(`in use by another Gatehouse, process ${process.pid}`);
  await first.release();
  await first.release();
  await (await lockDataFolder(dataDir)).release();
  expect(await readdir(join(dataDir, "lock"))).toEqual([]);
});

test("exactly one of many simultaneous claims wins", async () => {
  for (let round = 0; round < 10; round += 1) {
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => lockDataFolder(dataDir)));
    const won = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
    expect(won).toHaveLength(1);
    await won[0]?.release();
  }
});

test("a holder that does not respond keeps its lock until it is killed", async () => {
  await (await lockDataFolder(dataDir)).release(); // makes the folder
  const holder = await spawnSilentHolder("4242-0123456789ab");
  await expect(lockDataFolder(dataDir)).rejects.toThrow("process 4242");
  holder.kill("SIGKILL");
  await once(holder, "exit");
  const lock = await lockDataFolder(dataDir);
  expect(await readdir(join(dataDir, "lock"))).toHaveLength(1);
  await lock.release();
});

test("files that are not claims are ignored", async () => {
  await (await lockDataFolder(dataDir)).release();
  const other = createServer().listen(join(dataDir, "lock", "other.sock"));
  await once(other, "listening");
  await (await lockDataFolder(dataDir)).release();
  expect(await readdir(join(dataDir, "lock"))).toEqual(["other.sock"]);
  other.close();
});
